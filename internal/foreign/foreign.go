// Package foreign names the files of other programs that users hand to dumptool,
// by their first bytes, and says what there is to do with them.
package foreign

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"strings"
	"unicode/utf8"
)

// HeadBytes is how many bytes of a file are enough for Of.
const HeadBytes = 512

// Kind is a kind of file.
type Kind struct {
	// Name is what such a file is, with its article.
	Name string
	// Use says what dumptool does with it, or what the user can do.
	Use string
	// is reports whether a file begins as one of this kind does.
	is func(head []byte) bool
}

// String is a sentence about a file of the kind, without the file.
func (k *Kind) String() string { return k.Name + ": " + k.Use }

// What is said about several kinds.
const (
	unread  = "this version of dumptool does not read it"
	packed  = "unpack it first"
	useless = "dumptool has no use for it"
)

// kinds is in the order in which a file is tried for them: a magic number comes
// before the look of a text.
var kinds = []Kind{
	{"an empty file", "there is nothing to read", func(head []byte) bool { return len(head) == 0 }},
	{"an HDF5 file", unread, magic("\x89HDF\r\n\x1a\n")},
	{"a PyTorch file", unread, zipWith("data.pkl")},
	{"an archive of numpy arrays (.npz)", unread + "; unpacked, it is .npy files", zipWith(".npy")},
	{"a ZIP archive", packed, magic("PK\x03\x04", "PK\x05\x06")},
	{"a PyTorch file of the form before 1.6", unread, magic("\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.")},
	{"a Python pickle", "of these dumptool reads consumer maps (--consumer-map)", magic("\x80\x02", "\x80\x03", "\x80\x04", "\x80\x05")},
	{"a safetensors file", unread, isSafetensors},
	{"a gzip archive", packed, magic("\x1f\x8b")},
	{"a bzip2 archive", packed, magic("BZh")},
	{"an xz archive", packed, magic("\xfd7zXZ\x00")},
	{"a zstd archive", packed, magic("\x28\xb5\x2f\xfd")},
	{"a 7z archive", packed, magic("7z\xbc\xaf\x27\x1c")},
	{"a tar archive", packed, func(head []byte) bool { return len(head) > 262 && string(head[257:262]) == "ustar" }},
	{"an SQLite database", useless, magic("SQLite format 3\x00")},
	{"an ELF program or library", useless, magic("\x7fELF")},
	{"an offline model (.om)", "atc --mode=1 makes JSON of it, which -f of compare takes", magic("IMOD")},
	{"a picture", useless, magic("\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF8")},
	{"a PDF document", useless, magic("%PDF-")},
	{"a graph of MindSpore (IR)", unread, text(`^\s*(# ?IR entry|subgraph @|#attrs)`)},
	{"a graph as text (protobuf)", "use it with -f of compare", text(`(?:^|\n|\{)\s*graph\s*:?\s*[{<]`)},
	{"a model as text (protobuf)", useless, text(`(?:^|\n|\{)\s*(node|layer|op)\s*:?\s*[{<]`)},
	{"a dump configuration (JSON)", "config check reads it", text(`^\s*\{\s*"(dump|common_dump_settings|dump_path|task)"`)},
	{"a graph as JSON", "use it with -f of compare", text(`^\s*\{[^{}]*"graph"\s*:\s*\[`)},
	{"JSON", "no tensors are in it", text(`^\s*[{\[]`)},
	{"markup (XML or HTML)", useless, text(`^\s*<[!?A-Za-z]`)},
	{"a text", "no tensors are in it", text(``)},
}

// Of returns the kind of a file that is none of dumptool's tensor files, from its
// first HeadBytes bytes, or all that there are; nil for an unknown one.
func Of(head []byte) *Kind {
	for i := range kinds {
		if kinds[i].is(head) {
			return &kinds[i]
		}
	}
	return nil
}

// magic is the test for files that begin with one of some texts.
func magic(begin ...string) func([]byte) bool {
	return func(head []byte) bool {
		for _, b := range begin {
			if bytes.HasPrefix(head, []byte(b)) {
				return true
			}
		}
		return false
	}
}

// zipWith is the test for ZIP archives whose first file has a name with this end.
func zipWith(end string) func([]byte) bool {
	const fixed = 30
	return func(head []byte) bool {
		if len(head) < fixed || string(head[:4]) != "PK\x03\x04" {
			return false
		}
		n := fixed + int(binary.LittleEndian.Uint16(head[26:]))
		return n <= len(head) && strings.HasSuffix(string(head[fixed:n]), end)
	}
}

// isSafetensors reports whether a JSON header follows its length.
func isSafetensors(head []byte) bool {
	const maxHeader = 100 << 20
	return len(head) > 9 && head[8] == '{' && (head[9] == '"' || head[9] == '}' || head[9] == ' ') && binary.LittleEndian.Uint64(head) <= maxHeader
}

// text is the test for texts that have a form.
func text(form string) func([]byte) bool {
	re := regexp.MustCompile(form)
	return func(head []byte) bool { return IsText(head) && re.Match(bytes.TrimPrefix(head, []byte(bom))) }
}

// bom may begin a text.
const bom = "\ufeff"

// IsText reports whether the beginning of a file is text; its last letter may be
// cut off.
func IsText(head []byte) bool {
	if len(head) > HeadBytes-2*utf8.UTFMax {
		for range utf8.UTFMax - 1 {
			if r, size := utf8.DecodeLastRune(head); r == utf8.RuneError && size == 1 {
				head = head[:len(head)-1]
			}
		}
	}
	control := func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\f' || r == 0x7f }
	return utf8.Valid(head) && bytes.IndexFunc(head, control) < 0
}
