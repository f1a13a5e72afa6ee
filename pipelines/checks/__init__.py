"""What can be wrong with a pipeline, whoever wrote it: schema, rules of steps, graph, variables."""
