#!/usr/bin/env bash
# usage: launch_test.sh CASE CENTAVO. Jobs that `centavo launch` starts, and what happens to them.
set -euo pipefail
case=$1 centavo=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'cat "$work"/*.log; rm -rf "$work"' EXIT
mpirun="mpirun --oversubscribe" steps=4000 timeout=30
fail() { echo "FAILED: $*"; exit 1; }

launch() {  # NAME RANKS RESTARTS [LAUNCH OPTIONS] -- [TRAIN OPTIONS]
  local name=$1 ranks=$2 restarts=$3 own=()
  shift 3
  while [ "$1" != -- ]; do own+=("$1"); shift; done
  shift
  exec timeout 200 "$centavo" launch -n "$ranks" --max-restarts "$restarts" --mpirun "$mpirun" \
    ${own[@]+"${own[@]}"} -- train --model mlp --hidden 32 --dataset fake --img-size 8 --in-chans 1 \
    --num-classes 5 --batch-size 8 --epochs 1000 --max-steps $steps --precision fp32 --threads 1 \
    --workers 1 --seed 3 --opt adam --lr 0.001 --recovery-interval 200 --log-interval 1000 \
    --comm-timeout $timeout --output "$work/$name" "$@" >"$work/$name.log" 2>&1
}
# Sets `ranks` to the process ids of the ranks of the launch $1, none between attempts.
find_ranks() {
  local own above
  own=$(pgrep -P "$1" -f "^$centavo launch" || true)  # below `timeout`
  above=$(pgrep -P "${own:-0}" -f '^mpirun' || true)
  mapfile -t ranks < <(pgrep -P "${above:-0}" -f "^$centavo train" || true)
}
# Waits until the launch $1 has written a checkpoint to $work/$2.
wait_for_checkpoint() {
  for ((i = 0; i < 300; i++)); do
    [ -e "$work/$2/last" ] && return
    kill -0 "$1" || break
    sleep 0.1
  done
  fail "no checkpoint"
}
expect_same_weights() { cmp "$work/$1/model.safetensors" "$work/calm/model.safetensors"; }
expect_no_orphans() {
  for ((i = 0; i < 100; i++)); do
    pgrep -f "$work" >"$work/left" || return 0
    [ "$(grep -cvx $$ "$work/left")" = 0 ] && return 0
    sleep 0.1
  done
  fail "left running: $(pgrep -af "$work")"
}

case $case in
  kills*)  # that many ranks are killed at random moments
    wanted=${case#kills} kills=0
    (launch calm 2 0 --)
    for ((round = 1; kills < wanted; round++)); do
      (launch "run$round" 2 1000 --) & job=$!
      before=$kills
      while kill -0 $job 2>/dev/null; do
        sleep "$((RANDOM % 2)).$((RANDOM % 10))$((RANDOM % 10))"
        find_ranks $job
        [ ${#ranks[@]} -gt 0 ] && [ $kills -lt "$wanted" ] || continue
        if kill -9 "${ranks[RANDOM % ${#ranks[@]}]}" 2>/dev/null; then kills=$((kills + 1)); fi
      done
      wait $job || fail "round $round ended with $?"
      expect_same_weights "run$round"
      if [ $kills -gt "$before" ]; then
        # The first that the log says about it names rank, host and cause.
        grep -v -e '^centavo: info' -e '^rank' "$work/run$round.log" | grep -m1 '^centavo' |
          grep -q "rank [01] on host .*" || fail "the log of round $round names no rank"
      fi
    done
    expect_no_orphans
    ;;
  hang)
    (launch calm 2 0 --)
    timeout=3
    (launch hung 2 3 --) & job=$!
    wait_for_checkpoint $job hung
    find_ranks $job
    kill -STOP "${ranks[1]}"
    wait $job
    grep -q 'rank 1 on host .*no answer for 3 s' "$work/hung.log"
    expect_same_weights hung
    ;;
  stop)  # SIGTERM: a checkpoint and 75; the same command goes on
    (launch calm 2 0 --)
    (launch stopped 2 3 --) & job=$!
    wait_for_checkpoint $job stopped
    kill -TERM "$(pgrep -P $job -f "^$centavo launch")"
    code=0; wait $job || code=$?
    [ $code = 75 ] || fail "exit $code, 75 wanted"
    grep -q 'stopped on request after step' "$work/stopped.log"
    (launch stopped 2 3 --)
    grep -q 'resumed from .* at step' "$work/stopped.log"
    expect_same_weights stopped
    # Ranks do not outlive a launch that is killed.
    (launch killed 2 3 --) & job=$!
    wait_for_checkpoint $job killed
    kill -9 "$(pgrep -P $job -f "^$centavo launch")"
    wait $job && fail "a killed launch succeeded"
    expect_no_orphans
    ;;
  fewer)  # a job that cannot start with two ranks goes on with one
    printf '%s\n' '#!/bin/sh' '[ "$2" = 1 ] || { echo "no room for $2 ranks" >&2; exit 1; }' \
      'exec mpirun --oversubscribe "$@"' >"$work/mpirun"
    chmod +x "$work/mpirun"
    mpirun=$work/mpirun steps=20
    (launch alone 2 1 --min-ranks 1 --)
    grep -q 'restart 1 of 1 with 1 rank, from the beginning' "$work/alone.log"
    [ -e "$work/alone/model.safetensors" ]
    code=0; (launch never 2 2 --) || code=$?
    [ $code = 1 ] && grep -q 'failed after 2 restarts' "$work/never.log"
    mpirun="mpirun --oversubscribe"
    code=0; (launch typo 2 2 -- --modle x) || code=$?
    [ $code = 2 ] && [ "$(grep -c "unknown option '--modle'" "$work/typo.log")" = 1 ]
    ;;
  *) fail "unknown case $case" ;;
esac
