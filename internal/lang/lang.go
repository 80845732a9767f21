// Package lang holds what messages and reports of all kinds need of language:
// texts and sentences in English, with the catalogue of their Chinese (zh.txt), the order of names with numbers in
// them, the nearest of the words that a misspelled one may stand for, lists of steps,
// the language that the environment asks for, and command lines that can be pasted.
package lang

import (
	"bytes"
	_ "embed" // the catalogue
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync"
)

//go:embed zh.txt
var lines string

// catalogue has the Chinese of every text of the program by its English. It is read when
// a text in Chinese is needed first.
var catalogue = sync.OnceValue(func() map[string]string { return readCatalogue(lines) })

// readCatalogue reads lines of a text in English, a tab, and the text in Chinese, with
// \n, \t and \\ for a line break, a tab and a backslash.
func readCatalogue(lines string) map[string]string {
	all := make(map[string]string, strings.Count(lines, "\n"))
	unescape := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`)
	for line := range strings.Lines(lines) {
		if strings.Contains(line, `\`) {
			english, chinese, _ := strings.Cut(line, "\t")
			all[unescape.Replace(english)] = unescape.Replace(strings.TrimSuffix(chinese, "\n"))
			continue
		}
		english, chinese, _ := strings.Cut(line, "\t")
		all[english] = strings.TrimSuffix(chinese, "\n")
	}
	return all
}

// contextMark ends the context of a text of the catalogue: perf¦RANK is RANK in English, and
// has another Chinese than RANK.
const contextMark = "¦"

// Lookup returns the Chinese of a text of the catalogue.
func Lookup(english string) (chinese string, ok bool) {
	chinese, ok = catalogue()[english]
	return chinese, ok
}

// Chinese is the Chinese of a text, or the text itself if the catalogue does not have it.
func Chinese(english string) string {
	if chinese, ok := Lookup(english); ok {
		return chinese
	}
	return withoutContext(english)
}

func withoutContext(english string) string {
	if _, text, ok := strings.Cut(english, contextMark); ok {
		return text
	}
	return english
}

// Text is a text in two languages. A text of the program has no ZH: the catalogue has its
// Chinese. String and Chinese return the languages.
type Text struct {
	// EN is the text in English, ZH in Chinese.
	EN string `json:"en"`
	ZH string `json:"zh"`
}

// String is the text in English.
func (t Text) String() string {
	if t.ZH != "" {
		return t.EN
	}
	return withoutContext(t.EN)
}

// Chinese is the text in Chinese.
func (t Text) Chinese() string {
	if t.ZH != "" {
		return t.ZH
	}
	return Chinese(t.EN)
}

// Both are the languages of a text in a document.
type Both struct {
	// EN is the text in English, ZH in Chinese.
	EN string `json:"en"`
	ZH string `json:"zh"`
}

// Both returns both languages.
func (t Text) Both() Both { return Both{t.String(), t.Chinese()} }

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // an encoder around this one escapes as it is told
	err := enc.Encode(t.Both())
	return bytes.TrimSpace(b.Bytes()), err
}

// Sentence is a text that is put together from a template and its arguments when
// somebody reads it, in the language that is wanted: it takes about as much memory as
// a text in one language. The zero value says nothing. JSON has it in English.
type Sentence struct{ s *sentence }

type sentence struct {
	template Text
	args     []any
}

// Say returns the sentence of a template in English with its arguments, as fmt.Errorf
// takes them, or of a text without arguments. The catalogue has its Chinese. Arguments
// that are texts or sentences, and errors that have or wrap a text, are shown in the language
// of the sentence. Arguments must not change any more.
func Say(english string, args ...any) Sentence {
	return Sentence{&sentence{Text{EN: english}, args}}
}

// Plain returns a text that is the same in both languages, such as that of an error.
func Plain(text string) Sentence {
	if text == "" {
		return Sentence{}
	}
	return Sentence{&sentence{template: Text{EN: text, ZH: text}}}
}

// Plains are texts that are the same in both languages.
func Plains(texts []string) []Sentence {
	var all []Sentence
	for _, t := range texts {
		all = append(all, Plain(t))
	}
	return all
}

// Join joins sentences, with a separator in between.
func Join(sentences []Sentence, separator Text) Sentence {
	if len(sentences) == 0 {
		return Sentence{}
	}
	args := make([]any, 0, 2*len(sentences)-1)
	for i, s := range sentences {
		if i > 0 {
			args = append(args, separator)
		}
		args = append(args, s)
	}
	return Say(strings.Repeat("%s", len(args)), args...)
}

// IsZero reports whether the sentence says nothing.
func (s Sentence) IsZero() bool { return s.s == nil }

// Text puts the sentence together in both languages.
func (s Sentence) Text() Text { return Text{EN: s.in(false), ZH: s.in(true)} }

// String is the sentence in English.
func (s Sentence) String() string { return s.in(false) }

// in puts the sentence together in English or Chinese.
func (s Sentence) in(zh bool) string {
	if s.s == nil {
		return ""
	}
	format := s.s.template.in(zh)
	if len(s.s.args) == 0 {
		if s.s.template.ZH == "" {
			format = strings.ReplaceAll(format, "%%", "%")
		}
		return format
	}
	own := make([]any, len(s.s.args))
	for i, a := range s.s.args {
		switch a := a.(type) {
		case Text:
			own[i] = a.in(zh)
		case Sentence:
			own[i] = a.in(zh)
		case interface{ Text() Text }:
			own[i] = a.Text().in(zh)
		case error:
			own[i] = errorIn(a, zh)
		default:
			own[i] = a
		}
	}
	return fmt.Sprintf(strings.ReplaceAll(format, "%w", "%v"), own...)
}

// in is the text in English or Chinese.
func (t Text) in(zh bool) string {
	if zh {
		return t.Chinese()
	}
	return t.String()
}

// Error returns the sentence of an error.
func Error(err error) Sentence { return Say("%v", err) }

// Failure is an error that documents have as its text, in English.
type Failure interface {
	error
	encoding.TextMarshaler
}

// Failed returns an error as a Failure, nil for none.
func Failed(err error) Failure {
	if err == nil {
		return nil
	}
	return failure{err}
}

// failure is an error with its text in documents.
type failure struct{ error }

// Unwrap returns the error itself.
func (f failure) Unwrap() error { return f.error }

// MarshalText implements encoding.TextMarshaler.
func (f failure) MarshalText() ([]byte, error) { return []byte(f.Error()), nil }

// Equal reports whether two sentences are the same in English.
func (s Sentence) Equal(other Sentence) bool { return s.String() == other.String() }

// MarshalText implements encoding.TextMarshaler.
func (s Sentence) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. The sentence is then the same in
// both languages: no other was written.
func (s *Sentence) UnmarshalText(text []byte) error {
	*s = Plain(string(text))
	return nil
}

// Count prints a number of things: 1 file, 2 files.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// CountText is Count in both languages. The catalogue has the Chinese of "%d file".
func CountText(n int, noun string) Text {
	key := "%d " + noun
	if context, word, ok := strings.Cut(noun, contextMark); ok {
		noun, key = word, context+contextMark+"%d "+word
	}
	return Text{EN: Count(n, noun), ZH: fmt.Sprintf(Chinese(key), n)}
}

// FirstNames lists at most five names.
func FirstNames(names []string) string {
	const shown = 5
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:shown], ", ") + ", ..."
}

// Clip cuts a text of a file to what fits a message.
func Clip(s string) string {
	const longest = 60
	if len(s) > longest {
		return s[:longest] + "..."
	}
	return s
}

// ChineseLocale reports whether the variables of the environment ask for Chinese:
// the first of LC_ALL, LC_MESSAGES and LANG that is set decides.
func ChineseLocale(getenv func(name string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if locale := getenv(name); locale != "" {
			return strings.HasPrefix(strings.ToLower(locale), "zh")
		}
	}
	return false
}

// UnicodeLocale reports whether the locale of the environment has all characters.
func UnicodeLocale(getenv func(name string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := getenv(name); locale != "" {
			return strings.Contains(strings.ReplaceAll(strings.ToLower(locale), "-", ""), "utf8")
		}
	}
	return false
}

// Pattern returns a regular expression that is compiled when it is needed first:
// a command needs few of the program's, and all of them would delay its start. It
// panics then for one that has an error, as regexp.MustCompile does.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Errorf is fmt.Errorf for a message that the catalogue has in Chinese.
func Errorf(english string, args ...any) error {
	return &said{fmt.Errorf(english, args...), Say(english, args...)}
}

// Problem is an error that is a sentence. Kinds of errors embed it.
type Problem struct{ Sentence }

// Error is the sentence in English.
func (p Problem) Error() string { return p.String() }

// Located is an error about the data of a file, as that of a checksum, which says by itself
// where it is and what is wrong: how many bytes a read got adds nothing.
type Located interface {
	error
	Located()
}

// IsLocated reports whether an error is, or wraps, a Located one.
func IsLocated(err error) bool {
	_, ok := errors.AsType[Located](err)
	return ok
}

// said is an error with its sentence.
type said struct {
	error
	sentence Sentence
}

// Text is the message in both languages.
func (e *said) Text() Text { return Text{EN: e.Error(), ZH: e.sentence.in(true)} }

// Unwrap returns the error without its sentence, which wraps what it is made of.
func (e *said) Unwrap() error { return e.error }

// errorIn is an error in a language: in Chinese its own text, or that of what it wraps
// in place of what that says in English.
func errorIn(err error, zh bool) string {
	if e, ok := any(err).(interface{ Text() Text }); ok && zh {
		return e.Text().Chinese()
	}
	text := err.Error()
	if !zh {
		return text
	}
	switch e := any(err).(type) {
	case *fs.PathError:
		return fmt.Sprintf("%s：%s", e.Path, errorIn(e.Err, zh))
	case interface{ Unwrap() error }:
		return inPlace(text, e.Unwrap())
	case interface{ Unwrap() []error }:
		return inPlace(text, e.Unwrap()...)
	}
	if known, ok := Lookup(text); ok {
		return known
	}
	return text
}

// inPlace is a text in which what errors say in English is Chinese.
func inPlace(text string, parts ...error) string {
	for _, part := range parts {
		if part != nil && part.Error() != "" {
			text = strings.Replace(text, part.Error(), errorIn(part, true), 1)
		}
	}
	return text
}
