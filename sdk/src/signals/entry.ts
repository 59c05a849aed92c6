/** evidence.js: watches the input as soon as it is loaded, and reads the rest when it is asked to. */

import type { Evidence } from "../evidence";
import { countUntrusted, isLate, replay, sumInput, watchInput } from "./input";
import { readSignals } from "./page";
import { noteCaller } from "./residue";

watchInput();
const part: Evidence = { countUntrusted, isLate, noteCaller, readSignals, replay, sumInput };
(globalThis as unknown as Record<string, ((loaded: Evidence) => void) | undefined>)["agentgate:evidence"]?.(part);
