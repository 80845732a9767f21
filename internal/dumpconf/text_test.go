package dumpconf

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTexts wants every text in both languages with the same arguments, and that the
// code names all of them and no others.
func TestTexts(t *testing.T) {
	table := textTable()
	named := map[string]bool{"word.sides-input": true, "word.sides-output": true, "word.sides-all": true}
	for _, s := range sectionNames {
		named["title."+s] = true
	}
	topics := map[string]bool{}
	for key := range table {
		topic, _, _ := strings.Cut(key, ".")
		topics[topic] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	literal := regexp.MustCompile(`"([a-z]+)(\.[a-z0-9-]*[a-z0-9])"`)
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range literal.FindAllStringSubmatch(string(src), -1) {
			if topics[m[1]] {
				named[m[1]+m[2]] = true
			}
		}
	}
	for key, is := range named {
		if is && table[key] == (Text{}) {
			t.Errorf("no text %s", key)
		}
	}
	verb := regexp.MustCompile(`%(\[\d\])?[sdv]`)
	for key, text := range table {
		if !named[key] {
			t.Errorf("nothing says %s", key)
		}
		checkText(t, text)
		if en, zh := len(verb.FindAllString(text.EN, -1)), len(verb.FindAllString(text.ZH, -1)); en != zh {
			t.Errorf("%s has %d arguments in English and %d in Chinese", key, en, zh)
		}
	}
}
