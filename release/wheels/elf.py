"""What a library in a wheel needs of the machine that it runs on, from its ELF headers."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from gauntlet.core.errors import UsageError

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

# Machines that packages are tagged for. Anything else is data: code of a GPU is ELF as well.
_MACHINES = {
    "EM_X86_64": "x86_64",
    "EM_AARCH64": "aarch64",
    "EM_386": "i686",
    "EM_ARM": "armv7l",
    "EM_PPC64": "ppc64le",
    "EM_S390": "s390x",
    "EM_RISCV": "riscv64",
    "EM_LOONGARCH": "loongarch64",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ElfFacts:
    """One ELF file. ``problem`` says why it could not be read; the rest is then empty."""

    name: str
    machine: str = ""
    """Such as ``x86_64``; empty where it is not for a CPU."""
    is_extension: bool = False
    """Whether Python can import it."""
    needed: tuple[str, ...] = ()
    """Libraries that it is linked to."""
    versions: frozenset[str] = frozenset()
    """Versions of symbols that it needs, such as ``GLIBC_2.28``."""
    python_symbols: frozenset[str] = frozenset()
    """Names of Python's C API that it takes from the interpreter."""
    problem: str = ""


def read_elf(name: str, stream: IO[bytes]) -> ElfFacts:
    """Read the headers of one ELF file; raises UsageError where the parser is not installed."""
    try:
        from elftools.common.exceptions import ELFError
        from elftools.construct.core import ConstructError
        from elftools.elf.elffile import ELFFile
    except ImportError as error:
        msg = "reading what a wheel's libraries need takes pyelftools and auditwheel"
        raise UsageError(msg, hint="pip install 'gauntlet[release]'") from error
    stream.seek(0)
    try:
        return _read(name, ELFFile(stream))
    except (ELFError, ConstructError, ValueError, KeyError, AttributeError, OverflowError) as error:
        return ElfFacts(name=name, problem=f"{type(error).__name__}: {error}")


def _read(name: str, elf: "ELFFile") -> ElfFacts:
    from elftools.elf.dynamic import DynamicSection
    from elftools.elf.sections import SymbolTableSection

    machine = _MACHINES.get(str(elf["e_machine"]), "")
    if machine == "x86_64" and elf.elfclass == 32:
        machine = "i686"
    symbols, dynamic = elf.get_section_by_name(".dynsym"), elf.get_section_by_name(".dynamic")
    names: list[tuple[str, bool]] = []
    if isinstance(symbols, SymbolTableSection):
        names = [(s.name, s["st_shndx"] == "SHN_UNDEF") for s in symbols.iter_symbols()]
    needed: tuple[str, ...] = ()
    if isinstance(dynamic, DynamicSection):
        needed = tuple(str(getattr(tag, "needed", "")) for tag in dynamic.iter_tags("DT_NEEDED"))
    return ElfFacts(
        name=name,
        machine=machine,
        is_extension=any(n.startswith("PyInit_") and not undefined for n, undefined in names),
        needed=needed,
        versions=frozenset(_versions(elf)),
        python_symbols=frozenset(
            n for n, undefined in names if undefined and n.startswith(("Py", "_Py"))
        ),
    )


def _versions(elf: "ELFFile") -> Iterable[str]:
    from auditwheel.elfutils import elf_find_versioned_symbols

    return (version for _, version in elf_find_versioned_symbols(elf))
