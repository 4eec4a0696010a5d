"""The recipes parse, and say what README.md of packaging/ claims of them."""
import pathlib
import re
import shutil
import subprocess
import sys
import types

root = pathlib.Path(sys.argv[1]) / "packaging"


class Anything:
    """Stands for whatever a recipe takes from its framework: names, calls, decorators."""

    def __init__(self, *_, **__):
        pass

    def __call__(self, *args, **_):
        return args[0] if len(args) == 1 and callable(args[0]) else self

    def __getattr__(self, name):
        return Anything()


def load(recipe, **modules):
    """The names of a recipe, run with these modules in the place of its framework."""
    sys.modules.update(modules)
    names = {}
    exec(compile((root / recipe).read_text(), recipe, "exec"), names)  # a recipe of this checkout
    return names


def module_of(**names):
    module = types.ModuleType("framework")
    module.__dict__.update(names)
    return module


def check_shell(where, text):
    for command in (["sh", "-n"], ["shellcheck", "-s", "sh", "-"]):
        if shutil.which(command[0]):
            done = subprocess.run(command, input=text, text=True, capture_output=True)
            assert done.returncode == 0, (where, done.stdout, done.stderr)


def packages_of(text):
    words = re.search(r"--no-install-recommends (.*)", text.replace("\\\n", " ")).group(1)
    return sorted(words.split("&&")[0].split())


# Apptainer: stages, the sections that it knows, and shell that parses.
definition = (root / "apptainer/plumb.def").read_text()
stages = re.findall(r"^Stage: (\S+)", definition, re.M)
assert stages == ["build", "final"] and definition.count("Bootstrap: docker") == 2, stages
for head, body in re.findall(r"^%(.*)\n((?:(?!%|Bootstrap:).*\n)*)", definition, re.M):
    section, _, stage = head.partition(" from ")
    assert section in ("files", "post", "runscript", "test", "help"), section
    assert stage in ("", "build"), stage
    if section in ("post", "runscript", "test"):
        check_shell(f"plumb.def %{section}", body)
container = (root / "Containerfile").read_text()
assert packages_of(definition) == packages_of(container), "two lists of packages to build with"
for run in re.findall(r"^RUN ((?:.*\\\n)*.*)", container, re.M):
    check_shell("Containerfile", run)

# Spack: what it defines is an option of CMakeLists.txt.
everything = {name: Anything() for name in (
    "version", "variant", "depends_on", "license", "generator")}
defined = []
spec = types.SimpleNamespace(satisfies=lambda what: what == "+cuda", variants={
    "cuda_arch": types.SimpleNamespace(value=("90",))})
recipe = load("spack/package.py", spack=module_of(), **{"spack.package": module_of(
    CMakePackage=type("CMakePackage", (), {}), CudaPackage=type("CudaPackage", (), {}), **everything)})
package = recipe["Plumb"]()
package.spec = spec
package.define = lambda name, value: defined.append((name, value))
package.define_from_variant = lambda name, variant: defined.append((name, variant))
package.cmake_args()
cmake = "".join(path.read_text() for path in [root.parent / "CMakeLists.txt",
                                              *(root.parent / "cmake").glob("*.cmake"),
                                              *(root.parent / "kernels").glob("CMakeLists.txt")])
assert dict(defined)["PLUMB_CUDA_WANTED"] == "90", defined
for name, _ in defined:
    assert name in cmake, f"CMake knows no {name}"

# ReFrame: as many ranks as the partition has GPUs, and a verdict that can fail.
patterns = []
sanity = module_of(all=all, assert_found=lambda pattern, *_: patterns.append(pattern) or True,
                   assert_not_found=lambda pattern, *_: True)
framework = module_of(
    RunOnlyRegressionTest=type("Test", (), {"stdout": "out", "stderr": "err"}),
    simple_test=lambda test: test)
source = (root / "reframe/plumb_check.py").read_text()
names = {"variable": lambda _, value: value, "run_before": lambda _: lambda method: method,
         "sanity_function": lambda method: method}
sys.modules.update({"reframe": framework, "reframe.utility": module_of(),
                    "reframe.utility.sanity": sanity})
framework.utility = types.SimpleNamespace(sanity=sanity)
exec(compile(source, "plumb_check.py", "exec"), names)
check = names["PlumbFleetCheck"]()
check.current_partition = types.SimpleNamespace(extras={"gpus_per_node": 8})
check.place_ranks()
assert check.num_tasks == check.num_tasks_per_node == 8
check_shell("plumb_check.py", check.postrun_cmds[0])
assert check.is_not_critical()
assert re.search(patterns[0], "verdict: 1") and not re.search(patterns[0], "verdict: 2")
try:
    import yaml
except ImportError:
    sys.exit(77)


def pod_of(item):
    spec = item["spec"]
    job = spec["jobTemplate"]["spec"] if item["kind"] == "CronJob" else spec
    return job, job["template"]["spec"]


for name, kind in (("job.yaml", "Job"), ("cronjob.yaml", "CronJob")):
    items = {item["kind"]: item for item in yaml.safe_load_all((root / "kubernetes" / name).read_text())}
    job, pod = pod_of(items[kind])
    assert job["completionMode"] == "Indexed", name
    assert pod["priorityClassName"] == "plumb-idle" and pod["restartPolicy"] == "OnFailure", name
    assert pod["topologySpreadConstraints"][0]["topologyKey"] == "kubernetes.io/hostname", name
    container = pod["containers"][0]
    gpus = {entry["name"]: entry["value"] for entry in container["env"]}["GPUS"]
    assert int(gpus) == container["resources"]["limits"]["nvidia.com/gpu"], name
    assert container["volumeMounts"][0]["mountPath"] == "/data", name
assert items  # the last file had something
