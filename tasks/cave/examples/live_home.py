"""Two agents with interpreters of their own act on one shop, one light and one player.

The objects stay in this process: each agent holds references, and sees at once what the other did.
"""

import random

from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.scripted import block, scripted
from carryover.tasks.cave.suites.devices import Light, Player
from carryover.tasks.cave.suites.worlds import Shop

HOST = block("""
cheapest = min(shop.search('lamps'), key=lambda lamp: shop.read_product(lamp)['price'])
shop.restock(cheapest, 1)
shop.add_to_cart('ana', cheapest, 1)
light.set_level('bright')
player.start('party')""")
NEIGHBOUR = block("""
if player.is_playing and player.volume > 40:
    player.change(-20)
light.change(-10)
bought = sum(shop.read_cart('ana').values())""")


def main(contract: str = "persistent") -> tuple[Light, Player, str]:
    """Return the devices after both agents, and the neighbour's words."""
    light = Light(0)
    player = Player(0, is_playing=False)
    shared = {"shop": Shop(random.Random(1)), "light": light, "player": player}
    host = Agent(scripted(HOST, "The party is on."), name="host", contract=contract)
    neighbour = Agent(scripted(NEIGHBOUR, "I made it quieter."), name="neighbour", contract=contract)
    with host, neighbour:
        for agent in (host, neighbour):
            for name, thing in shared.items():
                agent.inject(name, thing, by="reference")
        print(host.ask("Buy ana the cheapest lamp, and prepare a party."))
        said = str(neighbour.ask("Make it quieter and darker, if there is a party."))
    return light, player, said


if __name__ == "__main__":
    print(*main(), sep="\n")
