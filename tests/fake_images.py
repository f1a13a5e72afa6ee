"""Registries in memory, behind the port that skopeo serves; and a store that fails on demand."""

import tempfile
from contextlib import contextmanager
from pathlib import Path

from gauntlet.core.errors import ExternalServiceError, UsageError
from gauntlet.images.oci.manifest import ImageConfig, Manifest, digest_of, index_bytes
from gauntlet.images.oci.reference import Place


class FakeImages:
    """Every repository of every place: blobs by digest, digests by tag."""

    def __init__(self):
        self.blobs, self.leads, self.moves = {}, {}, []

    def add(self, reference, image):
        """Put a made image under a tag."""
        key = self._key(reference)
        self.blobs.setdefault(key, {}).update(image.blobs)
        self.leads.setdefault(key, {})[reference.tag] = image.digest

    @staticmethod
    def _key(reference):
        return str(reference.place), reference.repository

    def _raw(self, reference):
        key = self._key(reference)
        digest = reference.digest or self.leads.get(key, {}).get(reference.tag)
        return self.blobs.get(key, {}).get(digest)

    def _found(self, reference):
        if (found := self.manifest(reference)) is None:
            raise UsageError(f"{reference}: there is no such image")
        return found

    def manifest(self, reference):
        raw = self._raw(reference)
        return None if raw is None else Manifest.parse(raw, of=str(reference))

    def config(self, reference):
        found = self._found(reference)
        blob = self.blobs[self._key(reference)][found.document.config.digest]
        return ImageConfig.parse(blob, of=str(reference))

    def tags(self, place: Place, repository):
        return tuple(sorted(self.leads.get((str(place), repository), ())))

    def copy(self, source, destination):
        found = self._found(source)
        blobs = self.blobs[self._key(source)]
        needed = [found.digest, *found.platforms.values()]
        for digest in tuple(needed):
            part = Manifest.parse(blobs[digest], of=digest)
            needed += [layer.digest for layer in part.layers]
            needed += [part.document.config.digest] if part.document.config else []
        self.blobs.setdefault(self._key(destination), {}).update({d: blobs[d] for d in needed})
        self._lead(destination, found.digest)
        return found.digest

    def write_index(self, destination, entries):
        listed = tuple(entries)
        for entry in listed:
            self._found(destination.place.at(destination.repository, digest=entry.digest))
        raw = index_bytes(listed)
        self.blobs[self._key(destination)][digest_of(raw)] = raw
        self._lead(destination, digest_of(raw))
        return digest_of(raw)

    def _lead(self, destination, digest):
        self.leads.setdefault(self._key(destination), {})[destination.tag] = digest
        self.moves.append(f"{destination.repository}:{destination.tag}")

    @contextmanager
    def layer_files(self, reference):
        found = self._found(reference)
        blobs = self.blobs[self._key(reference)]
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for number, layer in enumerate(found.layers):
                files.append(Path(folder) / str(number))
                files[-1].write_bytes(blobs[layer.digest])
            yield files


class Killed(BaseException):
    """The process is gone: nothing may catch it."""


class FailingImages:
    """Passes everything on to another store, until it has changed something so many times.

    ``after`` is whether the last change was still carried out; ``error`` is what comes then.
    """

    def __init__(self, store, changes, *, after=False, error=None):
        self._store, self._left, self._after = store, changes, after
        self._error = error or ExternalServiceError("the registry is down")

    def __getattr__(self, name):
        return getattr(self._store, name)

    def copy(self, source, destination):
        return self._change(lambda: self._store.copy(source, destination))

    def write_index(self, destination, entries):
        return self._change(lambda: self._store.write_index(destination, entries))

    def _change(self, change):
        self._left -= 1
        if self._left >= 0:
            return change()
        if self._after:
            change()
        raise self._error
