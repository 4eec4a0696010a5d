"""code_blocks.py finds mistakes, and is given every document: negative.py CHECKOUT PROGRAMS DOCUMENT..."""
import pathlib
import subprocess
import sys
import tempfile

checkout, programs = pathlib.Path(sys.argv[1]), sys.argv[2]
with_blocks = {str(path.relative_to(checkout))
               for path in [checkout / "README.md", checkout / "CONTRIBUTING.md",
                            *(checkout / "docs").rglob("*.md"), *(checkout / "packaging").rglob("*.md")]
               if "\n```" in path.read_text()}
assert with_blocks == set(sys.argv[3:]), with_blocks ^ set(sys.argv[3:])

MISTAKES = {"of no kind": ("", "plumb-run"), "option": ("sh gpu", "plumb-run --frobnicate -o f.h5"),
            "syntax": ("sh slurm", "if true; then"), "failure": ("sh", "plumb-check missing.h5"),
            "script": ("sh install", "sh jobs/none.sh"),
            "output": ("text plumb-check --version", "plumb-check 99.9"),
            "json": ("json", '{"devices": [{"host": "n1", "profile": "none", "count": 1}]}'),
            "python": ("python", "assert False")}
# code_blocks.py runs no Python where these are missing
if subprocess.run(["/usr/bin/python3", "-c", "import h5py, xarray"], capture_output=True).returncode:
    del MISTAKES["python"]
PAGES = {name: f"```{kind}\n{body}\n```\n" for name, (kind, body) in MISTAKES.items()}
PAGES["picture"] = "![A picture](none.svg)\n<!-- made by echo drawn -->\n"
for name, body in PAGES.items():
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.md"
        page.write_text(f"# A page\n\n{body}")
        done = subprocess.run([sys.executable, "-B", pathlib.Path(__file__).parent / "code_blocks.py",
                               checkout, programs, page], capture_output=True, text=True)
        assert done.returncode == 1 and "page.md" in done.stdout, (name, done)
