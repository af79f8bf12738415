"""Cells of ordinary notebooks, in order: each may use the names of those before it."""

TEXT = r"""
# %% arithmetic
total = sum(range(10))
total
# %% last value
_ + 1
# %% silenced value
total;
# %% print and value
print('seen')
total * 2
# %% f-strings
name = 'Ada'
print(f'{name:>6}|{total:04d}')
# %% error
missing_name
# %% after an error
total
# %% comprehension
squares = {n: n * n for n in range(4)}
squares
# %% walrus
[half for n in range(6) if (half := n // 2) > 1]
# %% match
match squares:
    case {2: four}:
        print('found', four)
# %% generator
def countdown(n):
    while n:
        yield n
        n -= 1
list(countdown(3))
# %% decorator
import functools
@functools.lru_cache
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(40)
# %% class
class Stack:
    def __init__(self): self.items = []
    def push(self, x): self.items.append(x); return self
    def __repr__(self): return f'Stack({self.items})'
Stack().push(1).push(2)
# %% dataclass
from dataclasses import dataclass, field, asdict
@dataclass(order=True)
class Point:
    x: int
    y: int = 0
    tags: list = field(default_factory=list, compare=False)
Point(1), asdict(Point(2, 3)), Point(1) < Point(2)
# %% dataclass replace
import dataclasses
dataclasses.replace(Point(1), y=5)
# %% future annotations
from __future__ import annotations
from typing import ClassVar
@dataclass
class Node:
    value: int
    next: Node | None = None
    kind: ClassVar[str] = 'node'
Node(1, Node(2))
# %% fields
[f.name for f in dataclasses.fields(Node)]
# %% type hints
import typing
sorted(typing.get_type_hints(Node))
# %% protocol
from typing import Protocol, runtime_checkable
@runtime_checkable
class Sized(Protocol):
    def __len__(self) -> int: ...
isinstance([], Sized)
# %% named tuple
from typing import NamedTuple
class Pair(NamedTuple):
    a: int
    b: str = 'x'
Pair(1)
# %% enum
import enum
class Colour(enum.Enum):
    RED = 1
    BLUE = 2
list(Colour), Colour(2)
# %% pickle
import pickle
pickle.loads(pickle.dumps([Point(1, 2), Colour.RED]))
# %% copy
import copy
copy.deepcopy(Node(1, Node(2)))
# %% pathlib write
from pathlib import Path
Path('notes').mkdir()
Path('notes/a.txt').write_text('one\ntwo\n')
# %% pathlib read
[line.upper() for line in Path('notes/a.txt').read_text().splitlines()]
# %% glob
sorted(str(path) for path in Path('.').rglob('*.txt'))
# %% tempfile
import tempfile
with tempfile.TemporaryDirectory() as folder:
    Path(folder, 'x').write_text('y')
    print(len(list(Path(folder).iterdir())))
# %% csv
import csv
with open('rows.csv', 'w', newline='') as file:
    csv.writer(file).writerows([['a', 'b'], [1, 2]])
list(csv.DictReader(open('rows.csv')))
# %% json
import json
json.loads(json.dumps({'a': [1, None, True]}))
# %% zip
import zipfile
with zipfile.ZipFile('all.zip', 'w') as archive:
    archive.write('notes/a.txt')
zipfile.ZipFile('all.zip').namelist()
# %% sqlite
import sqlite3
db = sqlite3.connect(':memory:')
db.execute('create table t (a int, b text)')
db.executemany('insert into t values (?, ?)', [(1, 'x'), (2, 'y')])
db.execute('select sum(a), max(b) from t').fetchall()
# %% sqlite file
with sqlite3.connect('shop.db') as shop:
    shop.execute('create table item (name text)')
    shop.execute("insert into item values ('pen')")
sqlite3.connect('shop.db').execute('select * from item').fetchone()
# %% logging
import logging, sys
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter('%(levelname)s %(message)s'))
log = logging.getLogger('shop')
log.addHandler(handler)
log.setLevel(logging.INFO)
log.info('started')
# %% warnings
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    warnings.warn('careful')
str(caught[0].message)
# %% await
import asyncio
async def double(x):
    await asyncio.sleep(0.01)
    return 2 * x
await double(21)
# %% gather
await asyncio.gather(*(double(n) for n in range(3)))
# %% async for
async def ticks():
    for n in range(3):
        await asyncio.sleep(0)
        yield n
async for n in ticks():
    print(n)
# %% async with
async with asyncio.timeout(5):
    print(await double(1))
# %% queue
queue = asyncio.Queue()
await queue.put('job')
await queue.get()
# %% threads
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(2) as pool:
    print(list(pool.map(lambda n: n + 1, range(3))))
# %% timeit
import timeit
timeit.timeit('fib(5)', setup='from __main__ import fib', number=1) >= 0
# %% unittest
import io, unittest
class TestPoint(unittest.TestCase):
    def test_x(self): self.assertEqual(Point(1).x, 1)
runner = unittest.TextTestRunner(io.StringIO())
result = unittest.main(argv=['x'], exit=False, testRunner=runner).result
result.wasSuccessful()
# %% mock
from unittest import mock
import random
with mock.patch('random.random', return_value=0.5):
    print(random.random())
# %% inspect
import inspect
print(inspect.getsource(countdown))
# %% numpy
import numpy as np
matrix = np.arange(6).reshape(2, 3)
matrix @ matrix.T
# %% pandas
import pandas as pd
frame = pd.DataFrame({'shop': ['a', 'b', 'a'], 'sold': [1, 2, 3]})
frame
# %% pandas groupby
frame.groupby('shop')['sold'].agg(['sum', 'mean'])
# %% pandas csv
frame.to_csv('frame.csv', index=False)
pd.read_csv('frame.csv').equals(frame)
# %% pandas merge
frame.merge(pd.DataFrame({'shop': ['a', 'b'], 'city': ['Rome', 'Oslo']}), on='shop').pivot_table(
    index='city', values='sold', aggfunc='sum')
# %% matplotlib
import matplotlib.pyplot as plt
figure, axes = plt.subplots()
axes.plot(frame['sold'])
plt.show()
# %% save a figure
figure, axes = plt.subplots()
axes.bar(frame.index, frame['sold'])
figure.savefig('bars.png')
plt.close(figure)
Path('bars.png').read_bytes()[:4]
# %% display
display(Point(3))
# %% copy files
import shutil
Path('a.txt').write_text('a')
Path('folder').mkdir()
shutil.copy('a.txt', 'folder')
shutil.copytree('folder', 'copied')
sorted(path.as_posix() for path in Path('copied').iterdir())
# %% module of one's own
Path('own_module.py').write_text('def four():\n    return 4')
import own_module
own_module.four()
# %% shelf
import shelve
with shelve.open('shelf') as shelf:
    shelf['a'] = [1]
with shelve.open('shelf') as shelf:
    print(dict(shelf))
# %% task
import asyncio
async def doubled(x):
    await asyncio.sleep(0)
    return 2 * x
task = asyncio.create_task(doubled(4))
await task
# %% task in one line
task = asyncio.create_task(doubled(5)); await task
# %% generic class
from typing import Generic, TypeVar
T = TypeVar('T')
@dataclass
class Box(Generic[T]):
    item: T
Box[int](3)
# %% period index
pd.Series([1, 2, 3], index=pd.period_range('2024-01', periods=3, freq='M')).sum()
# %% zip file
import zipfile
with zipfile.ZipFile('a.zip', 'w') as archive:
    archive.write('a.txt')
zipfile.ZipFile('a.zip').namelist()
# %% warning
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    warnings.warn('careful')
[str(each.message) for each in caught]
# %% recursion error
def endless(n): return endless(n + 1)
endless(0)
# %% task group
import asyncio
async with asyncio.TaskGroup() as group:
    first = group.create_task(asyncio.sleep(0, 'a'))
    second = group.create_task(asyncio.sleep(0, 'b'))
first.result() + second.result()
# %% timeout
try:
    async with asyncio.timeout(0.01):
        await asyncio.sleep(60)
except TimeoutError:
    print('late')
# %% row factory
import sqlite3
shop = sqlite3.connect('shop2.db')
shop.row_factory = sqlite3.Row
shop.execute('create table item (name text, euros int)')
shop.execute("insert into item values ('pen', 2)")
shop.commit()
[dict(row) for row in shop.execute('select * from item')]
# %% transaction
try:
    with shop:
        shop.execute("insert into item values ('ink', 5)")
        raise RuntimeError('no')
except RuntimeError as error:
    print('rolled back:', error)
shop.execute('select count(*) from item').fetchone()[0]
# %% database of frames
import duckdb
kept = duckdb.connect('frames.db')
kept.sql('create table item as select * from (values (1, 2.5), (2, 4.0)) as item (id, euros)')
kept.close()
duckdb.connect('frames.db').sql('select sum(euros) from item').fetchall()
# %% locked file
import fcntl
with open('locked', 'w') as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    file.write('x')
# %% second axis
import matplotlib.pyplot as plt
figure, left = plt.subplots()
right = left.twinx()
left.plot([1, 2])
right.plot([2, 1]);
# %% doctest
import doctest
def square(x):
    '''
    >>> square(3)
    9
    '''
    return x * x
doctest.testmod()
# %% change of the folder
import os
os.makedirs('deeper')
os.chdir('deeper')
# %% folder is kept
os.path.basename(os.getcwd())
# %% folder back
os.chdir('..')
os.path.exists('deeper')
# %% frozen dataclass
@dataclass(frozen=True, slots=True)
class Fixed:
    x: int
Fixed(1).x = 2
# %% pickled lambda
pickle.dumps(lambda: 0)
# %% single dispatch
from functools import singledispatch
@singledispatch
def named(x): return 'object'
@named.register
def _(x: int): return 'integer'
named(1), named('')
# %% torch
import torch
torch.manual_seed(0)
line = torch.nn.Linear(2, 1)
line(torch.ones(1, 2)).shape, sorted(line.state_dict())
# %% torch training
steps = torch.optim.SGD(line.parameters(), lr=0.1)
for _ in range(3):
    loss = (line(torch.ones(1, 2)) ** 2).mean()
    steps.zero_grad()
    loss.backward()
    steps.step()
round(loss.item(), 3) >= 0
"""

_PARTS = [part.partition("\n") for part in TEXT.split("# %% ")[1:]]
CELLS = {name: code.strip() for name, _, code in _PARTS}
"""By name."""
