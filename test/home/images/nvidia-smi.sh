#!/bin/sh
# Speaks as nvidia-smi of driver 550 does where it is asked for the memory of its cards. /cards holds what it prints, a
# line a card; /broken what it says before it gives up, as it does where NVML cannot be begun.
if [ "$*" != "--query-gpu=pci.bus_id,memory.total,memory.free --format=csv,noheader,nounits --loop-ms=2000" ]; then
  echo 'Invalid combination of input arguments. Please run '"'nvidia-smi -h'"' for help.'
  exit 1
fi
while :; do
  if [ -e /broken ]; then
    cat /broken
    exit 255
  fi
  cat /cards
  sleep 2
done
