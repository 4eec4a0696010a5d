# Spack recipe: copy the folder as `plumb` into a repository's packages/ and `spack install plumb`.
from spack.package import *


class Plumb(CMakePackage, CudaPackage):
    """Characterizes the memory hierarchy of every GPU in a cluster and finds the ones that
    misbehave."""

    homepage = "https://github.com/plumb/plumb"
    git = "https://github.com/plumb/plumb.git"

    license("Apache-2.0")

    version("main", branch="main")

    variant("tests", default=False, description="Build the tests")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")
    depends_on("hdf5@1.10:+hl~mpi")
    depends_on("gsl@2.7:")
    depends_on("jansson")
    depends_on("zlib-api")
    depends_on("xz")
    depends_on("cmocka", when="+tests")
    depends_on("cuda@12:", when="+cuda")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define_from_variant("PLUMB_TESTS", "tests"),
            self.define("PLUMB_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
        ]
        if self.spec.satisfies("+cuda"):
            architectures = self.spec.variants["cuda_arch"].value
            if architectures != ("none",):
                args.append(self.define("PLUMB_CUDA_WANTED", ";".join(architectures)))
        return args
