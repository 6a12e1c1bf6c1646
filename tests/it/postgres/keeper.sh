# Starts a PostgreSQL server for tests, and clears it away when the test run is over.
#
#     sh keeper.sh BIN DIRECTORY OWNER SETTINGS
#
# It says `ready`, or why there is no server, and closes its output. Then it watches the process OWNER, the test run;
# when that ends, by whatever signal, it stops the server and removes DIRECTORY. It stands in a process group of its
# own, since a run that was killed can clear nothing away.

bin=$1
directory=$2
owner=$3
settings=$4

start() {
    "$bin/initdb" --pgdata "$directory/data" --username postgres --auth trust --encoding UTF8 --locale C --no-sync \
        >"$directory/log" &&
        printf '%s\n' "$settings" >>"$directory/data/postgresql.conf" &&
        "$bin/pg_ctl" start --pgdata "$directory/data" --log "$directory/log" --wait --timeout 60 >/dev/null
}

# A killed owner that nobody has waited for is still listed, as a zombie. The server's user may not signal the owner,
# so `kill -0` cannot ask.
owner_lives() {
    if [ -d /proc/self ]; then
        read -r stat <"/proc/$owner/stat" || return 1
    else
        stat=") $(ps -o stat= -p "$owner") " || return 1
    fi
    case $stat in *') Z'*) return 1 ;; esac
}

problem=$(start 2>&1)
status=$?
# The run may be gone by now, and with it whoever listens.
trap '' HUP INT PIPE
if [ "$status" -eq 0 ]; then
    echo ready
else
    echo "$problem"
    tail -n 20 "$directory/log"
fi
exec >/dev/null 2>&1

# A test that has a server of its own removes the directory itself.
while [ -d "$directory" ] && owner_lives; do
    sleep 0.2
done
"$bin/pg_ctl" stop --pgdata "$directory/data" --mode immediate --wait
rm -rf "$directory"
