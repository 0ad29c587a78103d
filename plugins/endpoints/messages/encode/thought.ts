/** The state of a thought as the signature of its block. */
import { JoinedDetail, toOpaque } from '../../../../core/wire/opaque.ts';

/**
 * The mark of a thought whose provider gave no state: clients drop a thought without a signature, and some providers need its text back.
 */
const noState = toOpaque({ type: 'reasoning.text', text: '' });

/** A thought while its block is open. */
export class Thought extends JoinedDetail {
  text = '';

  get signature(): string {
    return this.whole === null ? noState : toOpaque(this.whole, this.text);
  }
}
