"""What the build adds to the package: a compiled module, where a C compiler is, and the pages of the documentation."""

import shutil
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
# As `agentgate.http.documentation.library` looks for them.
PAGES = "agentgate/http/documentation/pages"
DOCUMENTS = (
    "docs/*.md",
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
    extensions = cythonize([Extension("agentgate.http.connection._head", [source], optional=True)], quiet=True)


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


setup(ext_modules=extensions, cmdclass={"build_py": BuildWithPages})
