/** What can be wrong with the file that holds the settings. */
import type { Problem } from '../core/types.ts';

export function brokenFile(aside: string): Problem {
  return {
    code: 'settings_broken',
    text: `The file with the settings could not be read. It was kept as ${aside}; the settings are as in the configuration file.`,
    fix: 'Make the settings again on the page, or repair that file and put it back.',
    params: { file: aside },
  };
}

export function unknownEntries(keys: readonly string[], aside: string): Problem {
  return {
    code: 'settings_unknown',
    text: `Some settings are not known or not valid and were left out: ${keys.join(', ')}. The file was kept as ${aside}.`,
    fix: 'Make these settings again on the page.',
    params: { keys: keys.join(', '), file: aside },
  };
}

export function unreadable(cause: string): Problem {
  return {
    code: 'settings_unreadable',
    text: `The file with the settings could not be read (${cause}). The settings are as in the configuration file.`,
    fix: 'See that the state folder can be read, then restart Llamastead.',
    params: { cause },
  };
}
