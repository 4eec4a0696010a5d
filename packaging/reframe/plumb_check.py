"""ReFrame check: measures the GPUs of a node and fails where plumb-outliers is CRITICAL.

    reframe -c packaging/reframe -r

Set valid_systems and the number of GPUs in the site's configuration (partition extras:
gpus_per_node), and PLUMB_BASELINE to an earlier file of the same GPUs to judge by their own past.
"""
import os

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class PlumbFleetCheck(rfm.RunOnlyRegressionTest):
    descr = "GPUs of a node against each other and their past"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "plumb-run"
    battery = variable(str, value="quick")
    gpus_per_node = variable(int, value=0)  # 0: the partition's extras, or 1
    tags = {"health", "gpu"}
    maintainers = ["plumb"]

    @run_before("run")
    def place_ranks(self):
        extras = self.current_partition.extras
        self.num_tasks_per_node = self.gpus_per_node or int(extras.get("gpus_per_node", 1))
        self.num_tasks = self.num_tasks_per_node
        self.executable_opts = ["--no-progress", "--battery", self.battery, "-o", "fleet.h5"]
        baseline = os.environ.get("PLUMB_BASELINE")
        judge = "plumb-outliers --json verdict.json"
        if baseline:
            judge += f" --baseline {baseline}"
        # Exit codes of Nagios: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.
        self.postrun_cmds = [f"{judge} fleet.h5; echo verdict: $?"]

    @sanity_function
    def is_not_critical(self):
        return sn.all([
            sn.assert_found(r"^verdict: [013]$", self.stdout, "the verdict is CRITICAL"),
            sn.assert_not_found(r"^plumb-run: error", self.stderr),
        ])
