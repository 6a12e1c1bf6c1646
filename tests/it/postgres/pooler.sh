# Starts pgbouncer for a test, and clears it away when the test is over.
#
#     sh pooler.sh PGBOUNCER DIRECTORY OWNER
#
# It says `ready`, or why there is no pooler, and closes its output. Then it watches: when DIRECTORY is gone, or the
# process OWNER has ended by whatever signal, it ends pgbouncer and removes DIRECTORY.

pgbouncer=$1
directory=$2
owner=$3

"$pgbouncer" --quiet "$directory/pgbouncer.ini" >/dev/null 2>"$directory/log" &
pooler=$!

# As in keeper.sh.
owner_lives() {
    if [ -d /proc/self ]; then
        read -r stat <"/proc/$owner/stat" || return 1
    else
        stat=") $(ps -o stat= -p "$owner") " || return 1
    fi
    case $stat in *') Z'*) return 1 ;; esac
}

until [ -S "$directory/.s.PGSQL.6432" ] || ! kill -0 "$pooler"; do
    sleep 0.05
done 2>/dev/null
if kill -0 "$pooler"; then
    echo ready
else
    tail -n 5 "$directory/log"
fi
trap '' HUP INT PIPE
exec >/dev/null 2>&1

while [ -d "$directory" ] && owner_lives; do
    sleep 0.2
done
kill "$pooler"
rm -rf "$directory"
