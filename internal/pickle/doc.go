// Package pickle reads the plain data in Python pickles, protocols 0 to 5: None,
// bool, int, float, str, bytes, list, tuple, set, frozenset and dict, and
// OrderedDict and defaultdict as dicts.
//
// A pickle is a program that may call anything. This reader executes nothing: the
// few names that plain data needs are in the table globals, with what a call of
// them makes; every other name, class or call is refused. What it allocates is
// bounded by a multiple of the file's size.
//
// Kinds of pickles with more than that, such as those of PyTorch, have a Dialect:
// functions of the caller make their objects, by the same rules.
//
// A file that makes it here: machine.go runs the opcodes of opcodes.go, which are
// those of Python's module pickletools, scalars.go decodes numbers and texts,
// value.go has the containers, and global.go the calls.
package pickle
