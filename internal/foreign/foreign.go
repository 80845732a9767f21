// Package foreign identifies files of other programs that users pass to dumptool, by their first
// bytes, and describes their use. Start reading at the table kinds.
package foreign

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"dumptool/internal/lang"
)

// HeadBytes is the number of bytes of a file that Identify needs.
const HeadBytes = 512

// Kind is a kind of file.
type Kind struct {
	// Name is the kind's name, in English with its article.
	Name lang.Text
	// Use describes how dumptool uses a file of the kind, or what the user can do.
	Use lang.Text
	// matches reports whether the head of a file matches the kind.
	matches func(head []byte) bool
}

// Text returns a sentence about a file of the kind, without the file's name.
func (k *Kind) Text() lang.Text { return lang.Say("foreign.Text¦%s: %s", k.Name, k.Use).Text() }

// String returns the sentence in English.
func (k *Kind) String() string { return k.Text().String() }

// Texts of several kinds.
var (
	unreadUse  = lang.Text{EN: "this version of dumptool does not read it"}
	packedUse  = lang.Text{EN: "unpack it first"}
	mountedUse = lang.Text{EN: "dumptool reads it when its own path is given"}
	uselessUse = lang.Text{EN: "dumptool does not use it"}
)

// kinds is ordered by precedence: magic numbers before patterns of texts.
var kinds = []Kind{
	{lang.Text{EN: "an empty file"}, lang.Text{EN: "there is nothing to read"}, func(head []byte) bool { return len(head) == 0 }},
	{lang.Text{EN: "a ZIP archive"}, mountedUse, hasPrefix("PK\x03\x04", "PK\x05\x06")},
	{lang.Text{EN: "a Python pickle"}, lang.Text{EN: "dumptool reads only consumer maps of this kind (--consumer-map)"}, hasPrefix("\x80\x02", "\x80\x03", "\x80\x04", "\x80\x05", "}q\x00", "]q\x00", "(dp0\n", "(lp0\n")},
	{lang.Text{EN: "a safetensors file"}, lang.Text{EN: "dumptool reads it if its name ends in .safetensors"}, isSafetensors},
	{lang.Text{EN: "a gzip archive"}, mountedUse, hasPrefix("\x1f\x8b")},
	{lang.Text{EN: "foreign¦a bzip2 archive"}, packedUse, hasPrefix("BZh")},
	{lang.Text{EN: "foreign¦an xz archive"}, packedUse, hasPrefix("\xfd7zXZ\x00")},
	{lang.Text{EN: "a zstd archive"}, mountedUse, hasPrefix("\x28\xb5\x2f\xfd")},
	{lang.Text{EN: "foreign¦a 7z archive"}, packedUse, hasPrefix("7z\xbc\xaf\x27\x1c")},
	{lang.Text{EN: "a tar archive"}, mountedUse, func(head []byte) bool { return len(head) > 262 && string(head[257:262]) == "ustar" }},
	{lang.Text{EN: "an SQLite database"}, uselessUse, hasPrefix("SQLite format 3\x00")},
	{lang.Text{EN: "an ELF program or library"}, uselessUse, hasPrefix("\x7fELF")},
	{lang.Text{EN: "an offline model (.om)"}, lang.Text{EN: "atc --mode=1 converts it to JSON, which -f of compare reads"}, hasPrefix("IMOD")},
	{lang.Text{EN: "a picture"}, uselessUse, hasPrefix("\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF8")},
	{lang.Text{EN: "a PDF document"}, uselessUse, hasPrefix("%PDF-")},
	{lang.Text{EN: "a graph of MindSpore (IR)"}, unreadUse, matchesText(`^\s*(# ?IR entry|subgraph @|#attrs)`)},
	{lang.Text{EN: "a graph as text (protobuf)"}, lang.Text{EN: "use it with -f of compare"}, matchesText(`(?:^|\n|\{)\s*graph\s*:?\s*[{<]`)},
	{lang.Text{EN: "a model as text (protobuf)"}, uselessUse, matchesText(`(?:^|\n|\{)\s*(node|layer|op)\s*:?\s*[{<]`)},
	{lang.Text{EN: "a list of calls by msprobe (dump.json)"}, lang.Text{EN: "inspect, compare and overflow scan read it"}, matchesText(`^\s*\{\s*"task"[^{}]*"(dump_data_dir|data)"\s*:`)},
	{lang.Text{EN: "a dump configuration (JSON)"}, lang.Text{EN: "config check reads it"}, matchesText(`^\s*\{\s*"(dump|common_dump_settings|dump_path|task)"`)},
	{lang.Text{EN: "a graph as JSON"}, lang.Text{EN: "use it with -f of compare"}, matchesText(`^\s*\{[^{}]*"graph"\s*:\s*\[`)},
	{lang.Text{EN: "JSON"}, lang.Text{EN: "no tensors are in it"}, matchesText(`^\s*[{\[]`)},
	{lang.Text{EN: "markup (XML or HTML)"}, uselessUse, matchesText(`^\s*<[!?A-Za-z]`)},
	{lang.Text{EN: "foreign¦a text"}, lang.Text{EN: "no tensors are in it"}, matchesText(``)},
}

// Identify returns the kind of another program's file, from its first HeadBytes bytes or the whole of a shorter file;
// nil if unknown.
func Identify(head []byte) *Kind {
	for i := range kinds {
		if kinds[i].matches(head) {
			return &kinds[i]
		}
	}
	return nil
}

// Files counts files by kind.
type Files struct {
	counts  map[*Kind]int // key nil: unknown kinds
	example map[*Kind]string
}

// maxLines limits the sentences.
const maxLines = 5

// Add counts a file by its first HeadBytes bytes.
func (f *Files) Add(path string, head []byte) {
	if f.counts == nil {
		f.counts, f.example = make(map[*Kind]int), make(map[*Kind]string)
	}
	k := Identify(head)
	f.counts[k]++
	f.example[k] = cmp.Or(f.example[k], path)
}

// Sentences returns a sentence for each kind, most frequent first, with an example; the kinds
// beyond maxLines share the last sentence.
func (f *Files) Sentences() []lang.Sentence {
	var found []*Kind
	for i := range kinds {
		found = append(found, &kinds[i])
	}
	found = slices.DeleteFunc(append(found, nil), func(k *Kind) bool { return f.counts[k] == 0 })
	slices.SortStableFunc(found, func(a, b *Kind) int { return f.counts[b] - f.counts[a] })
	var all []lang.Sentence
	for i, k := range found {
		if rest := found[i:]; i == maxLines-1 && len(rest) > 1 {
			return append(all, f.describeKinds(rest))
		}
		about := lang.Say("not a kind of file that dumptool reads")
		if k != nil {
			about = lang.Say("%s", k)
		}
		if n := f.counts[k]; n > 1 {
			all = append(all, lang.Say("%s (1 of %d such files): %s", f.example[k], n, about))
		} else {
			all = append(all, lang.Say("%s: %s", f.example[k], about))
		}
	}
	return all
}

// describeKinds returns a sentence about several kinds.
func (f *Files) describeKinds(kinds []*Kind) lang.Sentence {
	n := 0
	for _, k := range kinds {
		n += f.counts[k]
	}
	return lang.Say("%s (1 of %d files of %d other kinds)", f.example[kinds[0]], n, len(kinds))
}

// hasPrefix returns a predicate on files that begin with one of the texts.
func hasPrefix(begin ...string) func([]byte) bool {
	return func(head []byte) bool {
		return slices.ContainsFunc(begin, func(b string) bool { return bytes.HasPrefix(head, []byte(b)) })
	}
}

// isSafetensors reports whether a file begins with the length of a JSON header, followed by the header.
func isSafetensors(head []byte) bool {
	const maxHeader = 100 << 20
	return len(head) > 9 && head[8] == '{' && (head[9] == '"' || head[9] == '}' || head[9] == ' ') && binary.LittleEndian.Uint64(head) <= maxHeader
}

// matchesText returns a predicate on texts that match a pattern.
func matchesText(form string) func([]byte) bool {
	pattern := lang.Pattern(form)
	return func(head []byte) bool { return IsText(head) && pattern().Match(bytes.TrimPrefix(head, []byte(bom))) }
}

// bom is the byte order mark at the start of a text.
const bom = "\ufeff"

// IsText reports whether the beginning of a file is text; its last character may be cut off.
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
