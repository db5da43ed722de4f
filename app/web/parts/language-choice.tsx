import { chooseLanguage, language, text } from '../state/app.ts';
import { LANGUAGES } from '../text/format.ts';
import { isLanguage, LANGUAGE_NAMES } from '../text/text.ts';

export function LanguageChoice() {
  return (
    <label class="language">
      <span class="visually-hidden">{text.value.language}</span>
      <select
        value={language.value}
        onChange={(event) => {
          const select = event.currentTarget;
          if (isLanguage(select.value)) chooseLanguage(select.value).catch(() => resetChoice(select));
        }}
      >
        {LANGUAGES.map((one) => (
          <option key={one} value={one} lang={one}>
            {LANGUAGE_NAMES[one]}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The words could not be had: show the language that is still spoken. */
function resetChoice(select: HTMLSelectElement): void {
  select.value = language.value;
}
