"""The recipes parse, and say what README.md of packaging/ claims of them."""
import pathlib
import sys

root = pathlib.Path(sys.argv[1]) / "packaging"
for recipe in ("spack/package.py", "reframe/plumb_check.py"):
    compile((root / recipe).read_text(), recipe, "exec")
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
