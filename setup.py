"""What the build adds to the package: compiled modules if a C compiler works, documentation, and pages of the APIs."""

import json
import runpy
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import CompileError

ROOT = Path(__file__).parent
# As `agentgate.pages.documentation.endpoints` looks for them.
DOCUMENTATION = "agentgate/pages/documentation/built"
# As `agentgate.pages.reference.endpoints` looks for them; the APIs of each listener, whose first names its index.
REFERENCE = "agentgate/pages/reference/built"
LISTENERS = (("public", "account", "console"), ("admin",))

try:
    from Cython.Build import cythonize
except ImportError:
    extensions = []
else:
    compiled = runpy.run_path(str(ROOT / "src/agentgate/lib/compiled.py"))
    paths = [f"src/agentgate/{name}" for name in compiled["SOURCES"]]
    build = [("AGENTGATE_BUILD", f'"{compiled["build_id"](ROOT / "src/agentgate")}"')]
    found = [
        Extension(f"agentgate.{name}", [path], define_macros=build, depends=paths)
        for name, path in zip(compiled["MODULES"], paths, strict=False)
    ]
    extensions = cythonize(found, include_path=["src"], quiet=True)
    for each in extensions:
        # `cythonize` does not keep this argument of Extension.
        each.optional = True


class BuildIfPossible(build_ext):
    """Builds the compiled modules. If the build fails, the package uses plain Python."""

    def build_extension(self, ext: Extension) -> None:
        """Report a missing compiler as a compile error: `optional=True` covers only that kind."""
        try:
            super().build_extension(ext)
        except OSError as error:
            raise CompileError(str(error)) from error


class BuildWithPages(build_py):
    """Renders the documentation and the pages of the APIs into the package. A checkout renders on request."""

    def run(self) -> None:
        """Build as ever, then render."""
        super().run()
        if self.editable_mode:
            return
        sys.path[:0] = [str(ROOT), str(ROOT / "src")]
        from tools.documentation.site import Site  # noqa: PLC0415 - the path is set here

        Site().write(Path(self.build_lib) / DOCUMENTATION)
        self._render_reference(Path(self.build_lib) / REFERENCE)

    def _render_reference(self, folder: Path) -> None:
        from tools.reference.page import index_page, surface_page  # noqa: PLC0415 - the path is set here

        folder.mkdir(parents=True, exist_ok=True)
        for names in LISTENERS:
            documents = {name: json.loads((ROOT / f"docs/openapi/{name}.json").read_bytes()) for name in names}
            (folder / f"index-{names[0]}.html").write_text(index_page(documents), encoding="utf-8")
            for name, document in documents.items():
                (folder / f"{name}.html").write_text(surface_page(document), encoding="utf-8")


setup(ext_modules=extensions, cmdclass={"build_ext": BuildIfPossible, "build_py": BuildWithPages})
