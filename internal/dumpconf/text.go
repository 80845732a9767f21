package dumpconf

import (
	"embed"
	"io/fs"
	"strings"
	"sync"

	"dumptool/internal/lang"
)

// Text is a text in English and Chinese.
type Text = lang.Text

// textFiles hold what is said about configurations: a line with a key, then one each
// in English and in Chinese behind a tab, with the verbs of fmt for arguments.
//
//go:embed texts
var textFiles embed.FS

var textTable = sync.OnceValue(func() map[string]Text {
	files, err := fs.Glob(textFiles, "texts/*.txt")
	if err != nil {
		panic(err)
	}
	table := make(map[string]Text)
	for _, name := range files {
		src, err := textFiles.ReadFile(name)
		if err != nil {
			panic(err)
		}
		readTexts(table, string(src))
	}
	return table
})

func readTexts(table map[string]Text, src string) {
	key := ""
	for line := range strings.Lines(src) {
		line = strings.TrimSuffix(line, "\n")
		text, indented := strings.CutPrefix(line, "\t")
		t := table[key]
		switch {
		case !indented:
			key = line
			continue
		case t.EN == "":
			t.EN = text
		default:
			t.ZH = text
		}
		table[key] = t
	}
}

// text is the text of a key with its arguments. Of arguments that are texts
// themselves each language takes its own.
func text(key string, args ...any) Text {
	t, known := textTable()[key]
	if !known {
		panic("no text " + key)
	}
	return lang.Sayf(t.EN, t.ZH, args...).Text()
}
