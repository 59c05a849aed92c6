"""What the build adds to the package: a compiled module if a C compiler works, and the pages of the documentation."""

import shutil
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import CompileError

ROOT = Path(__file__).parent
# As `agentgate.pages.documentation.library` looks for them.
PAGES = "agentgate/pages/documentation/pages"
DOCUMENTS = (
    "docs/*.md",
    "docs/contributing/*.md",
    "docs/decisions/*.md",
    "docs/openapi/*.json",
    "docs/screenshots/*.webp",
    "*.md",
    "packages/*/README.md",
)

try:
    from Cython.Build import cythonize
except ImportError:
    extensions = []
else:
    source = "src/agentgate/http/connection/_head.pyx"
    extensions = cythonize([Extension("agentgate.http.connection._head", [source])], quiet=True)
    for each in extensions:
        # `cythonize` does not keep this argument of Extension.
        each.optional = True


class BuildIfPossible(build_ext):
    """Builds the compiled module. If the build fails, the package uses plain Python."""

    def build_extension(self, ext: Extension) -> None:
        """Report a missing compiler as a compile error: `optional=True` covers only that kind."""
        try:
            super().build_extension(ext)
        except OSError as error:
            raise CompileError(str(error)) from error


class BuildWithPages(build_py):
    """Copies the documents into the package. A checkout reads them where they are."""

    def run(self) -> None:
        """Build as ever, then copy."""
        super().run()
        if self.editable_mode:
            return
        for pattern in DOCUMENTS:
            for source in sorted(ROOT.glob(pattern)):
                copy = Path(self.build_lib) / PAGES / source.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, copy)


setup(ext_modules=extensions, cmdclass={"build_ext": BuildIfPossible, "build_py": BuildWithPages})
