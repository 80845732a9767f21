package pickle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// show writes a value as Python does, sets by their type's name.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case string:
		return fmt.Sprintf("%q", v)
	case []byte:
		return fmt.Sprintf("b%q", v)
	case *Sequence:
		var items []string
		for _, x := range v.Items {
			items = append(items, show(x))
		}
		return v.Kind.String() + "(" + strings.Join(items, " ") + ")"
	case *Dict:
		var items []string
		for _, x := range v.Items {
			items = append(items, show(x.Key)+":"+show(x.Value))
		}
		return "{" + strings.Join(items, " ") + "}"
	case float64:
		return fmt.Sprintf("%gf", v)
	}
	return fmt.Sprint(v)
}

func read(in io.Reader) (any, error) {
	v, _, err := Read(in, 1<<20)
	return v, err
}

func readFile(t *testing.T, name string) (any, error) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return read(bytes.NewReader(b))
}

// The values of testdata/gen.py.
const (
	wantConsumers = `{"conv1":list("bn1") "bn1":list("relu1" "add") "relu1":list("add") "add":list()}`
	wantValues    = `{"none":None "bools":list(true false) ` +
		`"ints":list(0 1 -1 255 256 65535 65536 -2147483648 2147483648 -9223372036854775808 9223372036854775808 -18446744073709551617) ` +
		`"floats":list(0.5f -2.25f +Inff 1e+300f) ` +
		`"texts":list("" "a/b" "卷积" "tab\t line\n quote' back\\ é 😀") ` +
		`"bytes":list(b"" b"\x00\xff'") ` +
		`"tuples":list(tuple() tuple(1) tuple(1 2) tuple(1 2 3) tuple(1 2 3 4)) ` +
		`"set":set(7) "frozenset":frozenset(8) ` +
		`"dict":{1:"one" tuple("a" 0):2 None:3} ` +
		`"ordered":{"z":1 "a":2} "default":{"k":list("v")} ` +
		`"shared":list(list("same") list("same"))}`
)

func TestReadFiles(t *testing.T) {
	for p := range 6 {
		for name, want := range map[string]string{"consumers": wantConsumers, "values": wantValues} {
			file := fmt.Sprintf("%s%d.pickle", name, p)
			v, err := readFile(t, file)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if diff := cmp.Diff(want, show(v)); diff != "" {
				t.Errorf("%s:\n%s", file, diff)
			}
		}
	}
	for _, file := range []string{"bytearray2.pickle", "bytearray5.pickle"} {
		if v, err := readFile(t, file); err != nil || show(v) != `b"ab"` {
			t.Errorf("%s: %v, %v", file, v, err)
		}
	}
}

func TestRefusedFiles(t *testing.T) {
	for p := range 6 {
		file := fmt.Sprintf("evil%d.pickle", p)
		v, err := readFile(t, file)
		var refused *RefusedError
		if v != nil || !errors.As(err, &refused) || refused.Name != "posix.system" || !strings.Contains(err.Error(), "GLOBAL at 0x") {
			t.Errorf("%s: %v, %v", file, v, err)
		}
	}
	for file, want := range map[string]string{
		"thing.pickle":     `pickle: refused: GLOBAL at 0x2 wants "__main__.Thing", only plain data is read`,
		"recursive.pickle": "pickle: STOP at 0x8: found a value that contains itself",
	} {
		if v, err := readFile(t, file); v != nil || err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v, want %s", file, v, err, want)
		}
	}
}

// Programs written by Python 2, and programs that no pickler writes but the opcodes allow.
func TestReadPrograms(t *testing.T) {
	for program, want := range map[string]string{
		"I42\n.":                          "42",
		"I01\n.":                          "true",
		"I00\n.":                          "false",
		"L123456789012345678901L\n.":      "123456789012345678901",
		"F1.5\n.":                         "1.5f",
		"S'it\\'s \\x41\\101\\n'\n.":      `"it's AA\n"`,
		"S\"a'b\"\n.":                     `"a'b"`,
		"T\x02\x00\x00\x00ab.":            `"ab"`,
		"U\x02ab.":                        `"ab"`,
		"Vra\\u0062\\U00000063\\d\xe9\n.": `"rabc\\dé"`,
		"(I1\nI2\nl.":                     "list(1 2)",
		"(S'a'\nI1\nd.":                   `{"a":1}`,
		"(S'a'\nI1\nS'a'\nI2\nd.":         `{"a":2}`,
		"(I1\nI2\nF1.0\nI3\nI01\nI4\nd.":  "{1:4}",
		"(lI1\na.":                        "list(1)",
		"(dS'a'\nI1\ns.":                  `{"a":1}`,
		"N(0.":                            "None",
		"N(I1\n1.":                        "None",
		"\x80\x02]q\x05h\x05\x86.":        "tuple(list() list())",
		"]r\x00\x01\x00\x00j\x00\x01\x00\x00\x86.": "tuple(list() list())",
		"(lp7\ng7\n\x86.":                          "tuple(list() list())",
		"\x80\x05\x8f(K\x01K\x01K\x02\x90.":        "set(1 2)",
		"\x8a\x00.":                                "0",
		"\x8a\x01\xff.":                            "-1",
		"\x8b\x09\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01.": "18446744073709551616",
		"ccollections\nOrderedDict\n((l(lS'z'\naI1\naatR.":          `{"z":1}`,
		"ccollections\ndefaultdict\n(c__builtin__\nlist\ntR.":       "{}",
		"c__builtin__\nset\n((lI1\naI1\natR.":                       "set(1)",
		"c__builtin__\nbytearray\n(Vab\nS'latin-1'\ntR.":            `b"ab"`,
		"\x8c\x08builtins\x8c\x03set\x93)R.":                        "set()",
		"G\x7f\xf0\x00\x00\x00\x00\x00\x00.":                        "+Inff",
		"B\x01\x00\x00\x00a.":                                       `b"a"`,
		"\x95\x02\x00\x00\x00\x00\x00\x00\x00N.":                    "None",
	} {
		v, err := read(strings.NewReader(program))
		if err != nil || show(v) != want {
			t.Errorf("%q: %s, %v, want %s", program, show(v), err, want)
		}
	}
}

var malformed = []struct{ program, want string }{
	{"", "end of file at 0x0: found no STOP opcode"},
	{"N", "end of file at 0x1: found no STOP opcode"},
	{".", "STOP at 0x0: found an empty stack, wanted a value"},
	{"NN.", "STOP at 0x2: found 1 unused values"},
	{"N(.", "STOP at 0x2: found an empty stack"},
	{"N.N", "STOP at 0x1: found 1 bytes after the end"},
	{"\x00.", "0x00 at 0x0: no such opcode"},
	{"\x80\x06N.", "PROTO at 0x0: found protocol 6, wanted 5 at most"},
	{"X\xff\xff\xff\x7fab", "BINUNICODE at 0x0: found 2 bytes more in the file, wanted 2147483647"},
	{"\x8d\xff\xff\xff\xff\xff\xff\xff\xffab", "BINUNICODE8 at 0x0: found 2 bytes more in the file, wanted 18446744073709551615"},
	{"\x95\xff\xff\xff\xff\xff\xff\xff\xffN.", "FRAME at 0x0: found 2 bytes more in the file, wanted a frame of 18446744073709551615"},
	{"X\x01\x00\x00\x00\xff.", "not UTF-8"},
	{"K", "BININT1 at 0x0: found 0 bytes more in the file, wanted 1"},
	{"I1", "INT at 0x0: the line of its argument has no end"},
	{"Ix\n.", `found "x", wanted a decimal integer`},
	{"I" + strings.Repeat("9", maxDigits+1) + "\n.", "wanted a decimal integer"},
	{"\x8b\x01\x02\x00\x00" + strings.Repeat("a", 513) + ".", "LONG4 at 0x0: found an integer of 513 bytes"},
	{"Fx\n.", "wanted a float"},
	{"Sab\n.", "wanted a text in quotes"},
	{"S'a\\q'\n.", "escape"},
	{"V\\ud800\n.", "wanted the number of a character"},
	{"V\\u12\n.", "wanted the number of a character"},
	{"h\x01.", "BINGET at 0x0: found no memo entry 1"},
	{"gx\n.", `memo entry "x"`},
	{"q\x01.", "BINPUT at 0x0: found an empty stack"},
	{"t.", "TUPLE at 0x0: found no mark on the stack"},
	{"N(\x85.", "TUPLE1 at 0x2: found 0 values on the stack, wanted 1"},
	{"]2a.", "STOP at 0x3: found a value that contains itself"},
	{"]a.", "APPEND at 0x1: found an empty stack"},
	{"}Na.", "APPEND at 0x2: found values to be added to a dict, wanted a list"},
	{"NNNs.", "SETITEM at 0x3: found items to be added to a None, wanted a dict"},
	{"}(Nu.", "SETITEMS at 0x3: found a key without a value"},
	{"}]Ns.", "a list as a key"},
	{"}}Ns.", "a dict as a key"},
	{"}]\x85Ns.", "a list as a key"},
	{"]N\x86N)R.", "found a call of a None with arguments in a tuple"},
	{"c_codecs\nencode\n(V\\u0100\nS'latin1'\ntR.", "beyond latin-1"},
	{"c_codecs\nencode\n(Va\nS'utf-7'\ntR.", "_codecs.encode with other arguments"},
	{"c__builtin__\nset\n(NtR.", "builtin__.set with other arguments"},
	{"ccollections\ndefaultdict\n(I1\ntR.", "other arguments"},
	{"ccollections\nOrderedDict\n((lNatR.", "other arguments"},
	{strings.Repeat("]", maxDepth+1) + strings.Repeat("a", maxDepth) + ".", "nested deeper than 100"},
}

func TestMalformed(t *testing.T) {
	for _, test := range malformed {
		v, err := read(strings.NewReader(test.program))
		var fe *FormatError
		if v != nil || !errors.As(err, &fe) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, %v, want %s", shorten(test.program), v, err, test.want)
		}
	}
}

var refused = []struct{ program, want string }{
	{"cos\nsystem\n(S'true'\ntR.", `GLOBAL at 0x0 wants "os.system"`},
	{"\x8c\x02os\x8c\x06system\x93.", `STACK_GLOBAL at 0xc wants "os.system"`},
	{"NN\x93.", "STACK_GLOBAL at 0x2 is not plain data"},
	{"(ios\nsystem\n.", `INST at 0x1 wants "os.system"`},
	{"(ios", "INST at 0x1 is not plain data"},
	{"Ppersistent\n.", "PERSID at 0x0"},
	{"NQ.", "BINPERSID at 0x1"},
	{"Nb.", "BUILD at 0x1"},
	{"(No.", "OBJ at 0x2"},
	{"NN\x81.", "NEWOBJ at 0x2"},
	{"NNN\x92.", "NEWOBJ_EX at 0x3"},
	{"\x82\x01.", "EXT1 at 0x0"},
	{"\x83\x01\x00.", "EXT2 at 0x0"},
	{"\x84\x01\x00\x00\x00.", "EXT4 at 0x0"},
	{"\x97.", "NEXT_BUFFER at 0x0"},
	{"N\x98.", "READONLY_BUFFER at 0x1"},
	{"cnumpy.core.multiarray\nscalar\n.", "numpy.core.multiarray.scalar"},
	{"cbuiltins\neval\n.", "builtins.eval"},
	{"c__builtin__\nset\n.", `GLOBAL at 0x0 wants "__builtin__.set"`},
	{"]c__builtin__\nlist\na.", `GLOBAL at 0x1 wants "__builtin__.list"`},
	{"c__builtin__\nlist\n)R.", "__builtin__.list"},
}

func TestRefused(t *testing.T) {
	for _, test := range refused {
		v, err := read(strings.NewReader(test.program))
		var re *RefusedError
		if v != nil || !errors.As(err, &re) || !strings.Contains(err.Error(), "pickle: refused: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, %v, want %s", test.program, v, err, test.want)
		}
	}
}

// A few bytes can stand for 2^200 values when written out.
func TestSharedValues(t *testing.T) {
	program := "]"
	for range maxDepth - 1 {
		program += "2\x86" // DUP, TUPLE2
	}
	v, err := read(strings.NewReader(program + "."))
	if s, ok := v.(*Sequence); err != nil || !ok || len(s.Items) != 2 || s.Items[0] != s.Items[1] {
		t.Errorf("%T, %v", v, err)
	}
	if _, err := read(strings.NewReader("}N" + "0" + strings.ReplaceAll(program, "]", ")") + "Ns.")); err == nil || !strings.Contains(err.Error(), "a key of more than") {
		t.Errorf("as a key: %v", err)
	}
}

func TestDictOfManyKeys(t *testing.T) {
	const n = 100
	program := "}("
	for round := range 2 {
		for i := range n {
			program += fmt.Sprintf("I%d\nI%d\n", i, i*10+round)
		}
	}
	v, err := read(strings.NewReader(program + "u."))
	d, ok := v.(*Dict)
	if err != nil || !ok || len(d.Items) != n {
		t.Fatalf("%v, %v", v, err)
	}
	for i, item := range d.Items {
		if item.Key != int64(i) || item.Value != int64(i*10+1) {
			t.Errorf("item %d is %v", i, item)
		}
	}
}

// TestKeys: keys are equal exactly if they are equal in Python.
func TestKeys(t *testing.T) {
	keys := []string{"I1\n", "I01\n", "F1.0\n", "Fnan\n", "Fnan\n", "Finf\n", "F9223372036854775808.0\n", "F0.5\n", "L9223372036854775808L\n",
		"S'a'\n", "U\x01a", "C\x01a", "N", "(I1\nS'a'\nt", "(F1.0\nS'a'\nt", "(I1\nC\x01at", "((I1\ntS'a'\nt"}
	program := "}("
	for _, key := range keys {
		program += key + "N"
	}
	const want = `{1:None NaNf:None +Inff:None 9.223372036854776e+18f:None 0.5f:None 9223372036854775808:None "a":None b"a":None None:None ` +
		`tuple(1 "a"):None tuple(1 b"a"):None tuple(tuple(1) "a"):None}`
	if v, err := read(strings.NewReader(program + "u.")); err != nil || show(v) != want {
		t.Errorf("%s, %v, want %s", show(v), err, want)
	}
}

// TestMemory: the memory is in proportion to the size of the file.
func TestMemory(t *testing.T) {
	text := "V" + strings.Repeat("x", 10000) + "\np0\n0"
	for what, program := range map[string]string{
		"one long key":      "((U\xff" + strings.Repeat("x", 255) + strings.Repeat("2", 200) + "tp0\n0" + strings.Repeat("}h\x00Ns", 2000) + "l.",
		"bytes of one text": text + "(" + strings.Repeat("c_codecs\nencode\n(g0\nVlatin1\ntR", 10000) + "l.",
		"one list in sets":  "(" + strings.Repeat("N", 10000) + "lp0\n0(" + strings.Repeat("c__builtin__\nset\n(g0\ntR", 5000) + "l.",
	} {
		v, err := read(strings.NewReader(program))
		if v != nil || err == nil || !strings.Contains(err.Error(), "more values than the memory") {
			t.Errorf("%s: %T, %v", what, v, err)
		}
	}
}

// TestDeepKeys: keys have the same limit of nesting as values.
func TestDeepKeys(t *testing.T) {
	v, err := read(strings.NewReader("})" + strings.Repeat("\x85", 1000) + "Ns."))
	if v != nil || err == nil || !strings.Contains(err.Error(), "SETITEM at 0x3eb: found values nested deeper than 100") {
		t.Errorf("%T, %v", v, err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

func TestReadError(t *testing.T) {
	if v, err := read(broken{}); v != nil || err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("%v, %v", v, err)
	}
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.pickle")
	if err != nil || len(files) == 0 {
		f.Fatalf("%v, %v", files, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, test := range append(malformed, refused...) {
		f.Add([]byte(test.program))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := read(bytes.NewReader(data))
		if err == nil {
			checkPlain(t, v, 0, make(map[any]bool))
			return
		}
		var fe *FormatError
		var re *RefusedError
		switch {
		case v != nil:
			t.Errorf("%v along with %v", v, err)
		case errors.As(err, &fe) && (fe.Off < 0 || fe.Off > int64(len(data))):
			t.Errorf("%v in %d bytes", err, len(data))
		case !errors.As(err, &fe) && !errors.As(err, &re):
			t.Errorf("%T %v", err, err)
		}
	})
}

// checkPlain: v has only plain values, nested no deeper than the limit.
func checkPlain(t *testing.T, v any, depth int, seen map[any]bool) {
	t.Helper()
	if depth > maxDepth {
		t.Fatal("too deep")
	}
	switch v := v.(type) {
	case nil, bool, int64, *big.Int, float64, string, []byte:
	case *Sequence:
		if !seen[v] {
			seen[v] = true
			for _, x := range v.Items {
				checkPlain(t, x, depth+1, seen)
			}
		}
	case *Dict:
		if !seen[v] {
			seen[v] = true
			for _, x := range v.Items {
				checkPlain(t, x.Key, depth+1, seen)
				checkPlain(t, x.Value, depth+1, seen)
			}
		}
	default:
		t.Fatalf("%T in the value", v)
	}
}
