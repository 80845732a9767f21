// Package foreign identifies files of other programs that users pass to dumptool, by their first
// bytes, and says what to do with them.
package foreign

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"dumptool/internal/lang"
)

// HeadBytes is the number of bytes of a file that Of needs.
const HeadBytes = 512

// Kind is a kind of file.
type Kind struct {
	// Name is the kind's name, in English with its article.
	Name lang.Text
	// Use says how dumptool uses such a file, or what the user can do.
	Use lang.Text
	// is reports whether the head of a file matches the kind.
	is func(head []byte) bool
}

// Text returns a sentence about a file of the kind, without the file's name.
func (k *Kind) Text() lang.Text { return lang.Sayf("%s: %s", "%s，%s", k.Name, k.Use).Text() }

// String returns the sentence in English.
func (k *Kind) String() string { return k.Text().EN }

// Texts shared by several kinds.
var (
	unread  = lang.Text{EN: "this version of dumptool does not read it", ZH: "当前版本的 dumptool 不读取"}
	packed  = lang.Text{EN: "unpack it first", ZH: "请先解压"}
	useless = lang.Text{EN: "dumptool has no use for it", ZH: "dumptool 用不到"}
)

// kinds is ordered by precedence: magic numbers before patterns of texts.
var kinds = []Kind{
	{lang.Text{EN: "an empty file", ZH: "空文件"}, lang.Text{EN: "there is nothing to read", ZH: "没有可读取的内容"}, func(head []byte) bool { return len(head) == 0 }},
	{lang.Text{EN: "a ZIP archive", ZH: "ZIP 归档"}, packed, magic("PK\x03\x04", "PK\x05\x06")},
	{lang.Text{EN: "a Python pickle", ZH: "Python pickle 文件"}, lang.Text{EN: "of these dumptool reads consumer maps (--consumer-map)", ZH: "dumptool 只读取其中的 consumer map(--consumer-map)"}, magic("\x80\x02", "\x80\x03", "\x80\x04", "\x80\x05")},
	{lang.Text{EN: "a safetensors file", ZH: "safetensors 文件"}, lang.Text{EN: "dumptool reads it if its name ends in .safetensors", ZH: "文件名以 .safetensors 结尾时 dumptool 会读取"}, isSafetensors},
	{lang.Text{EN: "a gzip archive", ZH: "gzip 压缩文件"}, packed, magic("\x1f\x8b")},
	{lang.Text{EN: "a bzip2 archive", ZH: "bzip2 压缩文件"}, packed, magic("BZh")},
	{lang.Text{EN: "an xz archive", ZH: "xz 压缩文件"}, packed, magic("\xfd7zXZ\x00")},
	{lang.Text{EN: "a zstd archive", ZH: "zstd 压缩文件"}, packed, magic("\x28\xb5\x2f\xfd")},
	{lang.Text{EN: "a 7z archive", ZH: "7z 归档"}, packed, magic("7z\xbc\xaf\x27\x1c")},
	{lang.Text{EN: "a tar archive", ZH: "tar 归档"}, packed, func(head []byte) bool { return len(head) > 262 && string(head[257:262]) == "ustar" }},
	{lang.Text{EN: "an SQLite database", ZH: "SQLite 数据库"}, useless, magic("SQLite format 3\x00")},
	{lang.Text{EN: "an ELF program or library", ZH: "ELF 程序或库"}, useless, magic("\x7fELF")},
	{lang.Text{EN: "an offline model (.om)", ZH: "离线模型(.om)"}, lang.Text{EN: "atc --mode=1 makes JSON of it, which -f of compare takes", ZH: "用 atc --mode=1 转换为 JSON 后可用于 compare 的 -f"}, magic("IMOD")},
	{lang.Text{EN: "a picture", ZH: "图片"}, useless, magic("\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF8")},
	{lang.Text{EN: "a PDF document", ZH: "PDF 文档"}, useless, magic("%PDF-")},
	{lang.Text{EN: "a graph of MindSpore (IR)", ZH: "MindSpore 图(IR)"}, unread, text(`^\s*(# ?IR entry|subgraph @|#attrs)`)},
	{lang.Text{EN: "a graph as text (protobuf)", ZH: "文本格式的图(protobuf)"}, lang.Text{EN: "use it with -f of compare", ZH: "可用于 compare 的 -f"}, text(`(?:^|\n|\{)\s*graph\s*:?\s*[{<]`)},
	{lang.Text{EN: "a model as text (protobuf)", ZH: "文本格式的模型(protobuf)"}, useless, text(`(?:^|\n|\{)\s*(node|layer|op)\s*:?\s*[{<]`)},
	{lang.Text{EN: "a list of calls by msprobe (dump.json)", ZH: "msprobe 的调用列表(dump.json)"}, lang.Text{EN: "inspect, compare and overflow scan read it", ZH: "用 inspect、compare 和 overflow scan 读取"}, text(`^\s*\{\s*"task"[^{}]*"(dump_data_dir|data)"\s*:`)},
	{lang.Text{EN: "a dump configuration (JSON)", ZH: "dump 配置(JSON)"}, lang.Text{EN: "config check reads it", ZH: "用 config check 检查"}, text(`^\s*\{\s*"(dump|common_dump_settings|dump_path|task)"`)},
	{lang.Text{EN: "a graph as JSON", ZH: "JSON 格式的图"}, lang.Text{EN: "use it with -f of compare", ZH: "可用于 compare 的 -f"}, text(`^\s*\{[^{}]*"graph"\s*:\s*\[`)},
	{lang.Text{EN: "JSON", ZH: "JSON 文件"}, lang.Text{EN: "no tensors are in it", ZH: "不含张量"}, text(`^\s*[{\[]`)},
	{lang.Text{EN: "markup (XML or HTML)", ZH: "标记文本(XML 或 HTML)"}, useless, text(`^\s*<[!?A-Za-z]`)},
	{lang.Text{EN: "a text", ZH: "文本文件"}, lang.Text{EN: "no tensors are in it", ZH: "不含张量"}, text(``)},
}

// Of returns the kind of a file that is no tensor file of dumptool, from its first HeadBytes bytes,
// or the whole of a shorter file; nil if unknown.
func Of(head []byte) *Kind {
	for i := range kinds {
		if kinds[i].is(head) {
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

// maxLines is the largest number of sentences.
const maxLines = 5

// Add counts a file by its first HeadBytes bytes.
func (f *Files) Add(path string, head []byte) {
	if f.counts == nil {
		f.counts, f.example = make(map[*Kind]int), make(map[*Kind]string)
	}
	k := Of(head)
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
			return append(all, f.others(rest))
		}
		about := lang.Sayf("none of the files that dumptool knows", "不是 dumptool 认识的文件")
		if k != nil {
			about = lang.Sayf("%s", "%s", k)
		}
		if n := f.counts[k]; n > 1 {
			all = append(all, lang.Sayf("%s (1 of %d such files): %s", "%s (共 %d 个同类文件): %s", f.example[k], n, about))
		} else {
			all = append(all, lang.Sayf("%s: %s", "%s: %s", f.example[k], about))
		}
	}
	return all
}

// others returns a sentence about several kinds.
func (f *Files) others(kinds []*Kind) lang.Sentence {
	n := 0
	for _, k := range kinds {
		n += f.counts[k]
	}
	return lang.Sayf("%s (1 of %d files of %d other kinds)", "%s (其他 %[3]d 类共 %[2]d 个文件之一)", f.example[kinds[0]], n, len(kinds))
}

// magic returns a predicate on files that begin with one of the texts.
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

// isSafetensors reports whether a file begins with the length of a JSON header and the header.
func isSafetensors(head []byte) bool {
	const maxHeader = 100 << 20
	return len(head) > 9 && head[8] == '{' && (head[9] == '"' || head[9] == '}' || head[9] == ' ') && binary.LittleEndian.Uint64(head) <= maxHeader
}

// text returns a predicate on texts that match a pattern.
func text(form string) func([]byte) bool {
	pattern := lang.Pattern(form)
	return func(head []byte) bool { return IsText(head) && pattern().Match(bytes.TrimPrefix(head, []byte(bom))) }
}

// bom is the byte order mark at the begin of a text.
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
