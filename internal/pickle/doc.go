// Package pickle reads the plain data in Python pickles, protocols 0 to 5:
// None, bool, int, float, str, bytes, list, tuple, set, frozenset and dict, and
// OrderedDict and defaultdict as dicts.
//
// A pickle is a program that may call anything. This reader calls nothing: the
// few names that plain data needs (set, bytes and the like) are recognised by
// their text, every other name, class or call is refused.
//
// The opcodes are those of the pickletools module of Python.
package pickle
