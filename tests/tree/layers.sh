#!/bin/sh
# The direction of dependencies (design section 2):
#   cli -> run -> battery -> device -> kernels; cli -> analysis; cli -> trace;
#   cli, run, battery, trace -> h5schema;
#   all may use core. Some headers belong to one place only.
set -eu
cd "$1"
bad=0

# only PATTERN WHERE...: files that include PATTERN must lie in WHERE.
only() {
    pattern=$1
    shift
    for file in $(grep -rlE "#include [<\"]$pattern" src kernels h5schema analysis \
        --include='*.[ch]' --include='*.cu' --include='*.cuh' || true); do
        allowed=no
        for where in "$@"; do
            # shellcheck disable=SC2254  # a pattern
            case $file in $where) allowed=yes ;; esac
        done
        [ $allowed = yes ] || { echo "$file: may not include $pattern"; bad=1; }
    done
}

only 'mpi\.h' 'src/run/gather*' 'src/cli/plumb-run.c'
only 'hdf5' 'h5schema/*'
# A backend is a folder of src/device: its toolkit's headers, which begin with its name, and its own
# belong to it. Simulated devices are described by run and cli, which must choose them.
for backend in src/device/*/CMakeLists.txt; do
    backend=${backend%/CMakeLists.txt}
    name=${backend##*/}
    only "$name" 'kernels/*' "$backend/*" 'src/trace/device/*'
    only "device/$name/" "$backend/*" 'src/run/*' 'src/cli/*'
done
only 'sanitizer' 'src/trace/device/*'
only 'gsl/' 'analysis/*'
only 'jansson\.h' 'src/core/json*' 'src/cli/*' 'src/device/*/*' 'src/run/*'

only 'analysis/' 'analysis/*' 'src/cli/*'
# shellcheck disable=SC2046  # the folders of backends that are linked with kernels/, as patterns
only 'kernels/' 'kernels/*' $(grep -l plumb_kernels src/device/*/CMakeLists.txt | sed 's,/[^/]*$,/*,')
only 'device/' 'src/device/*' 'src/battery/*' 'src/run/*' 'src/cli/*'
only 'battery/' 'src/battery/*' 'src/run/*' 'src/cli/*'
only 'run/' 'src/run/*' 'src/cli/*'
only 'cli/' 'src/cli/*'
only 'trace/' 'src/trace/*' 'src/cli/*'
only 'h5schema/' 'h5schema/*' 'src/battery/*' 'src/run/*' 'src/trace/*' 'src/cli/*'

# What is read out of HDF5 is opened in one place, which refuses what no fleet file may contain. The
# writers open what they have just made.
for file in $(grep -lE 'H5(Fopen|Oopen|Gopen2?|Dopen2?|Ovisit|Literate|Lget_name_by_idx|Aopen_by_idx)\(' \
    h5schema/*.c); do
    case $file in
    h5schema/open.c | h5schema/fleet.c | h5schema/matrix.c | h5schema/merge.c | h5schema/table.c) ;;
    *) echo "$file: opens HDF5 objects past h5schema/open.c"; bad=1 ;;
    esac
done

# Nothing below cli/ prints or ends the process.
# shellcheck disable=SC2046
if grep -nE '(^|[^a-z_])(printf|puts|exit|_exit|abort|MPI_Abort)\(' \
    $(find src/core src/device src/battery src/run src/trace analysis h5schema -name '*.c' \
        ! -name schema_doc.c ! -name metric_doc.c ! -name 'fault*.c'); then
    echo "the lines above print or end the process below src/cli"
    bad=1
fi
exit $bad
