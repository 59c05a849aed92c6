"""The one part that is compiled: optional, so that the package installs where no C compiler is."""

from setuptools import Extension, setup

try:
    from Cython.Build import cythonize
except ImportError:
    extensions = []
else:
    source = "src/agentgate/http/connection/_head.pyx"
    extensions = cythonize([Extension("agentgate.http.connection._head", [source], optional=True)], quiet=True)

setup(ext_modules=extensions)
