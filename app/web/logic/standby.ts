/** What the CPU's standby costs and saves, in one sentence or two. */
import type { ModelView } from '../../core/view.ts';
import type { Text } from '../text/en.ts';
import type { Format } from '../text/format.ts';

type Standby = NonNullable<ModelView['standby']>;

export function standbyText(standby: Standby, words: Text['model'], format: Format): string {
  const { kind, state, bytes, starts, need, room } = standby;
  const cost =
    state === 'no_room'
      ? words.standbyNoRoom(format.memory(need ?? 0), format.memory(room ?? 0))
      : words.standbyStates[state];
  const size = bytes === null ? '' : ` (${format.memory(bytes)})`;
  const measured = [
    starts.cold === null ? null : words.standbyCold(format.duration(starts.cold)),
    starts.cached === null ? null : words.standbyCached(format.duration(starts.cached)),
  ].filter((each) => each !== null);
  return [`${words.standbyKinds[kind]}: ${cost}${size}`, ...measured].join(' · ');
}
