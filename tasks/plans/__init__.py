"""Study plans by name: frozen specs composed to one resolved plan."""
