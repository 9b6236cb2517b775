// The element that observe.js has told under a number; null if it is gone. The frame with that place, if arguments[1].
const seen = globalThis.cairnSeen;
const element = arguments[1] ? seen?.frames?.[arguments[0]] : seen?.byNumber?.get(arguments[0]);
return element?.isConnected ? element : null;
