"""Images as registries and layouts keep them: names, manifests, layers, copies, a build storage."""
