# Installs what plumb is built with and is missing. Sourced by local.sh and tests/run.sh:
#   plumb_setup PACKAGE...
# Debian and Ubuntu by apt; PLUMB_INSTALL=no only checks and says what is missing.

PLUMB_BUILD_PACKAGES="gcc libc6-dev cmake ninja-build pkg-config libopenmpi-dev openmpi-bin
    libhdf5-dev libgsl-dev libjansson-dev zlib1g-dev liblzma-dev"
# shellcheck disable=SC2034  # of tests/run.sh
PLUMB_TEST_PACKAGES="libcmocka-dev clang-format clang-tidy cppcheck hdf5-tools
    python3-h5py python3-xarray python3-h5netcdf shellcheck slurmctld slurmd slurm-client
    slurm-wlm-basic-plugins munge zsh mandoc"

plumb_missing() {
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' ||
            printf '%s ' "$package"
    done
}

# apt waits for dpkg's lock, but not for that of the package lists.
plumb_update() {
    tries=60
    while ! plumb_said=$($plumb_apt update 2>&1); do
        case $plumb_said in *lock*) ;; *) tries=0 ;; esac
        [ "$tries" -gt 0 ] || { printf '%s\n' "$plumb_said" >&2; return 1; }
        tries=$((tries - 1))
        sleep 2
    done
}

plumb_setup() {
    if ! command -v dpkg-query >/dev/null 2>&1; then
        echo "setup: no dpkg here; expecting these to be installed: $*" | tr -s ' \n' ' '
        echo
        return 0
    fi
    missing=$(plumb_missing "$@")
    [ -n "$missing" ] || return 0
    if [ "${PLUMB_INSTALL:-yes}" = no ]; then
        echo "setup: missing, and PLUMB_INSTALL=no: $missing" >&2
        return 0
    fi
    sudo=
    if [ "$(id -u)" -ne 0 ]; then
        sudo=sudo
        command -v sudo >/dev/null 2>&1 || {
            echo "setup: missing: $missing; install them as root, then run this again" >&2
            return 1
        }
    fi
    echo "setup: installing $missing"
    # Another package manager, unattended upgrades say, may hold the lock: wait for it.
    plumb_apt="$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0
        -o DPkg::Lock::Timeout=120"
    # shellcheck disable=SC2086
    plumb_update || true
    # shellcheck disable=SC2086
    $plumb_apt install -y --no-install-recommends $missing >/dev/null
}

# Open MPI refuses root and more ranks than cores unless it is configured otherwise.
plumb_mpi_environment() {
    if [ "$(id -u)" -eq 0 ]; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
    # mpirun looks for processors through hwloc, whose plugins start OpenCL on every GPU: 1.2 s.
    export HWLOC_COMPONENTS="${HWLOC_COMPONENTS:--opencl,-cuda,-nvml,-gl}"
}
