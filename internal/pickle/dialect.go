package pickle

// Dialect is a kind of pickle that has more than plain data: names of its own, and
// objects that calls of them stand for. The zero value has none. Its functions get
// plain values, what they have made themselves, and each *Name that was not called;
// what they return is an opaque part of the value, and an error ends the reading.
// They are to keep no more of the arguments than they have to: parts of these may
// be shared, and nested as deep as the file is long.
type Dialect struct {
	// Lookup returns what a call of a name makes, such as collections.OrderedDict;
	// nil for a name that is only mentioned. The module builtins never is
	// __builtin__. Names that are not known are refused, but for those of plain data.
	Lookup func(name string) (call func(args []any) (any, error), known bool)
	// Persistent returns what a persistent id stands for; nil refuses them.
	Persistent func(id any) (any, error)
	// Stateful reports whether a pickle may set the state of a value, which is
	// dropped; nil refuses it for all.
	Stateful func(v any) bool
	// MaxMemory, when not 0, bounds the bytes that a value takes, for pickles that
	// are less than their size in a file.
	MaxMemory int64
}
