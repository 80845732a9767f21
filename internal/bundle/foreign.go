package bundle

import (
	"bytes"
	"strings"

	"dumptool/internal/lang"
)

// others are archives that are not read, by their first bytes: what they are, and the
// command that unpacks one, of a run and of a single file.
var others = []struct {
	magic     string
	what      lang.Text
	run, file string
}{
	{"\xfd7zXZ\x00", lang.Text{EN: "an xz archive", ZH: " xz 压缩文件"}, "tar xJf", "xz -dk"},
	{"BZh", lang.Text{EN: "a bzip2 archive", ZH: " bzip2 压缩文件"}, "tar xjf", "bzip2 -dk"},
	{"7z\xbc\xaf\x27\x1c", lang.Text{EN: "a 7z archive", ZH: " 7z 归档"}, "7z x", "7z x"},
	{"Rar!\x1a\x07", lang.Text{EN: "a rar archive", ZH: " rar 归档"}, "unrar x", "unrar x"},
}

// foreign is the error of an archive that is not read; nil for other files.
func (b *Bundle) foreign(head []byte, name string) error {
	for _, o := range others {
		if !bytes.HasPrefix(head, []byte(o.magic)) {
			continue
		}
		command := o.file
		if strings.Contains(name, ".tar") || strings.HasPrefix(name[strings.LastIndexByte(name, '.')+1:], "t") {
			command = o.run
		}
		return b.unpack(o.what, command)
	}
	return nil
}

// NamesCompressed reports whether a name in lower case is that of a compressed tar
// archive.
func NamesCompressed(name string) bool {
	for _, ending := range []string{".tgz", ".tar.gz", ".tar.zst", ".tzst"} {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return false
}

// Shared is the error of a compressed tar archive that several processes read.
func Shared(path string) error { return (&Bundle{path: path}).unpack(shared, "tar xf") }

// unpack is the error of an archive that a command unpacks.
func (b *Bundle) unpack(what lang.Text, command string) error {
	return &UnpackError{b.path, what, command + " " + lang.ShellWord(b.path)}
}

// What zip files are that are not read.
var (
	encrypted = lang.Text{EN: "an encrypted zip archive", ZH: "加密的 zip 归档"}
	split     = lang.Text{EN: "a zip archive of several files", ZH: "分卷的 zip 归档"}
	method    = lang.Text{EN: "a zip archive of another compression method", ZH: "采用其他压缩方法的 zip 归档"}
	shared    = lang.Text{EN: "a compressed tar archive, which each shard would unpack", ZH: "压缩的 tar 归档，每个分片都要解压一次"}
)
