/** Appends facts in one turn and kills itself: `dieAt` 0 in that turn, else when that number was told. */
import { writeSync } from 'node:fs';
import { systemClock } from '../../app/clock.ts';
import { openEventLog } from '../../app/event-log.ts';
import { many } from './facts.ts';

const [folder = '', facts, dieAt] = process.argv.slice(2);
const die = () => process.kill(process.pid, 'SIGKILL');
const ignore = () => {};
const log = await openEventLog({
  folder,
  clock: systemClock,
  notice: ignore,
  problem: ignore,
  problemGone: ignore,
});
log.subscribe(({ seq }) => {
  writeSync(1, `${seq}\n`);
  if (seq === Number(dieAt)) die();
});
log.append(many(Number(facts)), Date.now());
if (Number(dieAt) === 0) die();
