import { WORDS, type Word } from "../words.ts";
import { Popover } from "./popover.tsx";

/** A word with its explanation, for a pointer, a finger and the keyboard. A view with such words also has `WordList`. */
export function Explained({ word }: { word: Word }) {
  return (
    <Popover button={word} title={WORDS[word]} look="word">
      {WORDS[word]}
    </Popover>
  );
}

export function WordList({ words }: { words: readonly Word[] }) {
  return (
    <details class="words">
      <summary>What the words mean</summary>
      <dl>
        {words.map((word) => (
          <div key={word}>
            <dt>{word}</dt>
            <dd>{WORDS[word]}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
