#!/usr/bin/env bash
# Blocking SendMessage over JSON-RPC, a task kept each time, beside a floor: requests for each second of CPU that the
# server takes, in rounds that alternate, so that both see the same machine.
#
#   benches/a2a.sh [ROUNDS] [SECONDS] [NAME=PID=URL …]
#
# Needs wrk and Linux. Another server, such as one of an official SDK, joins by its name, its process and its URL.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rounds=${1:-5} seconds=${2:-5}
shift $(($# < 2 ? $# : 2))
command -v wrk >/dev/null || { echo "wrk is not installed" >&2; exit 2; }

cargo build --quiet --release -p mas-ctl -p mas-benches --bin mas-ctl --bin a2a_floor
bin=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release
ticks=$(getconf CLK_TCK)
started=()
trap 'kill "${started[@]}" 2>/dev/null || true' EXIT

"$bin/a2a_floor" 127.0.0.1:9301 & started+=($!)
"$bin/mas-ctl" serve examples/a2a-conformance/agent.yaml --no-events --listen 127.0.0.1:9302 2>/dev/null & started+=($!)
servers=("floor=${started[0]}=http://127.0.0.1:9301/" "mas=${started[1]}=http://127.0.0.1:9302/" "$@")
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
for port in 9301 9302; do
  for _ in $(seq 100); do
    listens "$port" && break
    sleep 0.05
  done
done

cpu() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
rss() { awk '/VmRSS/ { print $2 }' "/proc/$1/status"; }
printf '%-10s %8s %8s %12s %10s %9s %8s\n' SERVER ROUND REQ/S REQ/CPU-S CPU-US P99-MS RSS-KIB
declare -A all
for round in $(seq "$rounds"); do
  for server in "${servers[@]}"; do
    IFS== read -r name pid url <<<"$server"
    before=$(cpu "$pid")
    read -r _ requests _ wrong _ p99 < <(wrk -t1 -c32 -d"${seconds}s" -s benches/a2a.lua "$url" | grep '^requests ')
    [ "$wrong" = 0 ] || { echo "$name answered $wrong requests wrongly" >&2; exit 1; }
    taken=$(($(cpu "$pid") - before))
    row=$(awk -v r="$requests" -v t="$taken" -v h="$ticks" -v s="$seconds" -v p="$p99" \
      'BEGIN { c = t / h; printf "%d %d %.1f %.1f", r / s, r / c, c * 1e6 / r, p / 1000 }')
    read -r rate per_cpu us ms <<<"$row"
    printf '%-10s %8s %8s %12s %10s %9s %8s\n' "$name" "$round" "$rate" "$per_cpu" "$us" "$ms" "$(rss "$pid")"
    all[$name]+="$per_cpu "
  done
done
median() { tr ' ' '\n' <<<"$1" | grep . | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
floor=$(median "${all[floor]}")
for name in "${!all[@]}"; do
  [ "$name" = floor ] || awk -v n="$name" -v m="$(median "${all[$name]}")" -v f="$floor" \
    'BEGIN { printf "%s: %.2f of the floor, by the medians\n", n, m / f }'
done
