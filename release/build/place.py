"""Where a candidate's artifacts are: files in its folder, images by digest in a store."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gauntlet.images.oci.reference import Place, Reference
from gauntlet.images.oci.registry import ImageStore
from gauntlet.images.oci.skopeo import Skopeo
from gauntlet.release.folder import ReleaseFolder
from gauntlet.release.matrix.model import ImageCell
from gauntlet.release.policy import ReleasePolicy
from gauntlet.release.state import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """The folder of a candidate, and the place that its images are staged in."""

    folder: Path
    candidate: Candidate
    staging: Place
    store: ImageStore

    @classmethod
    def of(
        cls, release: ReleaseFolder, candidate: Candidate, policy: ReleasePolicy, staging: str = ""
    ) -> "Workshop":
        """The workshop of a candidate; ``staging`` takes the place of the policy's."""
        folder = release.candidate(candidate.name)
        text = staging or policy.images.staging or f"oci:{(folder / 'images').absolute()}"
        return cls(
            folder=folder,
            candidate=candidate,
            staging=Place.parse(text),
            store=Skopeo(plain_http=policy.images.plain_http),
        )

    @property
    def dist(self) -> Path:
        """Where wheels and the source distribution are."""
        return self.folder / "dist"

    def files(self) -> Iterator[Path]:
        """Wheels and source distributions, by name."""
        if self.dist.is_dir():
            yield from sorted([*self.dist.glob("*.whl"), *self.dist.glob("*.tar.gz")])

    def staged(self, cell: ImageCell) -> Reference:
        """Where the image of a cell is before it is proven: by commit, so that none is replaced."""
        return self.staging.at(cell.repository, tag=f"{self.candidate.commit}-{cell.id}")
