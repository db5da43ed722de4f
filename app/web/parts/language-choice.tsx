import { language, setLanguage, text } from '../state/app.ts';
import { LANGUAGES } from '../text/format.ts';
import { isLanguage, LANGUAGE_NAMES } from '../text/text.ts';

export function LanguageChoice() {
  return (
    <label class="language">
      <span class="visually-hidden">{text.value.language}</span>
      <select
        value={language.value}
        onChange={(event) => {
          const chosen = event.currentTarget.value;
          if (isLanguage(chosen)) setLanguage(chosen);
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
