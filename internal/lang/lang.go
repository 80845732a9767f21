// Package lang has everything about languages that messages and reports need: texts and sentences in English with
// their Chinese from the catalogue zh.txt, errors with both, natural order of names, nearest names for misspelled
// words, lists of steps, the language of the environment, and command lines that can be pasted into a shell.
//
// Start reading at Say and Errorf, which the rest of the program calls for its messages.
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

// catalogue maps the English of every text of the program to its Chinese. It is read when the first Chinese text is
// needed.
var catalogue = sync.OnceValue(func() map[string]string { return readCatalogue(lines) })

// readCatalogue parses lines of English, a tab, and Chinese, with \n, \t and \\ for a line break, a tab and a
// backslash.
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

// contextMark ends the context of a text in the catalogue: "perf¦RANK" is "RANK" in English, and its Chinese may
// differ from the Chinese of "RANK".
const contextMark = "¦"

// Lookup returns the Chinese of a text; ok is false if the catalogue does not have it.
func Lookup(english string) (chinese string, ok bool) {
	chinese, ok = catalogue()[english]
	return chinese, ok
}

// Chinese returns the Chinese of a text, or the text itself if the catalogue does not have it.
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

// Text is a text in two languages. If ZH is empty, the Chinese comes from the catalogue. String and Chinese return
// the languages.
type Text struct {
	// EN is the text in English, ZH in Chinese.
	EN string `json:"en"`
	ZH string `json:"zh"`
}

// String returns the text in English.
func (t Text) String() string {
	if t.ZH != "" {
		return t.EN
	}
	return withoutContext(t.EN)
}

// Chinese returns the text in Chinese.
func (t Text) Chinese() string {
	if t.ZH != "" {
		return t.ZH
	}
	return Chinese(t.EN)
}

// Both is a text in JSON, in both languages.
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
	enc.SetEscapeHTML(false) // the calling encoder decides about escaping
	err := enc.Encode(t.Both())
	return bytes.TrimSpace(b.Bytes()), err
}

// Sentence is a template with arguments, formatted in the language of the reader only when it is read: until then it
// takes about as much memory as a text in one language. The zero value is empty. JSON has the English.
type Sentence struct{ s *sentence }

type sentence struct {
	template Text
	args     []any
}

// Say returns the sentence of an English template and its arguments, as for fmt.Errorf; without arguments, of a plain
// text. The Chinese comes from the catalogue. Texts, sentences and errors among the arguments appear in the language
// of the sentence. Arguments must not change afterwards.
func Say(english string, args ...any) Sentence {
	return Sentence{&sentence{Text{EN: english}, args}}
}

// Plain returns a text without translation, such as an error of the system.
func Plain(text string) Sentence {
	if text == "" {
		return Sentence{}
	}
	return Sentence{&sentence{template: Text{EN: text, ZH: text}}}
}

// Join joins sentences with a separator.
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

// IsZero reports whether the sentence is empty.
func (s Sentence) IsZero() bool { return s.s == nil }

// Text formats the sentence in both languages.
func (s Sentence) Text() Text { return Text{EN: s.inLanguage(false), ZH: s.inLanguage(true)} }

// String formats the sentence in English.
func (s Sentence) String() string { return s.inLanguage(false) }

// inLanguage formats the sentence in English or Chinese.
func (s Sentence) inLanguage(zh bool) string {
	if s.s == nil {
		return ""
	}
	format := s.s.template.inLanguage(zh)
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
			own[i] = a.inLanguage(zh)
		case Sentence:
			own[i] = a.inLanguage(zh)
		case interface{ Text() Text }:
			own[i] = a.Text().inLanguage(zh)
		case error:
			own[i] = errorIn(a, zh)
		default:
			own[i] = a
		}
	}
	return fmt.Sprintf(strings.ReplaceAll(format, "%w", "%v"), own...)
}

// inLanguage returns the text in English or Chinese.
func (t Text) inLanguage(zh bool) string {
	if zh {
		return t.Chinese()
	}
	return t.String()
}

// Error returns the sentence of an error.
func Error(err error) Sentence { return Say("%v", err) }

// Failure is an error that JSON documents have as its English text.
type Failure interface {
	error
	encoding.TextMarshaler
}

// AsFailure returns an error as a Failure, nil for none.
func AsFailure(err error) Failure {
	if err == nil {
		return nil
	}
	return failure{err}
}

// failure is an error with its text for JSON.
type failure struct{ error }

// Unwrap returns the error itself.
func (f failure) Unwrap() error { return f.error }

// MarshalText implements encoding.TextMarshaler.
func (f failure) MarshalText() ([]byte, error) { return []byte(f.Error()), nil }

// Equal reports whether two sentences are equal in English.
func (s Sentence) Equal(other Sentence) bool { return s.String() == other.String() }

// MarshalText implements encoding.TextMarshaler.
func (s Sentence) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. The sentence is the same in both languages, since only one was
// written.
func (s *Sentence) UnmarshalText(text []byte) error {
	*s = Plain(string(text))
	return nil
}

// Count formats a number of things: 1 file, 2 files.
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

// Clip shortens a text from a file for a message.
func Clip(s string) string {
	const longest = 60
	if len(s) > longest {
		return s[:longest] + "..."
	}
	return s
}

// ChineseLocale reports whether the environment selects Chinese: the first nonempty variable of LC_ALL, LC_MESSAGES
// and LANG decides.
func ChineseLocale(getenv func(name string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if locale := getenv(name); locale != "" {
			return strings.HasPrefix(strings.ToLower(locale), "zh")
		}
	}
	return false
}

// UnicodeLocale reports whether the locale of the environment is UTF-8.
func UnicodeLocale(getenv func(name string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := getenv(name); locale != "" {
			return strings.Contains(strings.ReplaceAll(strings.ToLower(locale), "-", ""), "utf8")
		}
	}
	return false
}

// Pattern returns a function that compiles a regular expression at its first call: compiling all of the program's
// would delay its start. Invalid expressions panic then, as with regexp.MustCompile.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Errorf is fmt.Errorf for a message with Chinese in the catalogue.
func Errorf(english string, args ...any) error {
	return &sentenceError{fmt.Errorf(english, args...), Say(english, args...)}
}

// Problem is an error with a sentence, to be embedded in error types.
type Problem struct{ Sentence }

// Error returns the sentence in English.
func (p Problem) Error() string { return p.String() }

// LocatedError is an error about the data of a file, such as a checksum error, that already states the place and the
// cause. The number of bytes read is not added to it.
type LocatedError interface {
	error
	Located()
}

// IsLocated reports whether an error is, or wraps, a Located error.
func IsLocated(err error) bool {
	_, ok := errors.AsType[LocatedError](err)
	return ok
}

// sentenceError is an error with its sentence.
type sentenceError struct {
	error
	sentence Sentence
}

// Text returns the message in both languages.
func (e *sentenceError) Text() Text { return Text{EN: e.Error(), ZH: e.sentence.inLanguage(true)} }

// Unwrap returns the fmt error, which wraps the causes.
func (e *sentenceError) Unwrap() error { return e.error }

// errorIn formats an error in a language. Chinese is the error's own Chinese, or its English text with the Chinese of
// the wrapped errors inserted.
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
		return replaceParts(text, e.Unwrap())
	case interface{ Unwrap() []error }:
		return replaceParts(text, e.Unwrap()...)
	}
	if known, ok := Lookup(text); ok {
		return known
	}
	return text
}

// replaceParts replaces the English texts of errors within a text by Chinese.
func replaceParts(text string, parts ...error) string {
	for _, part := range parts {
		if part != nil && part.Error() != "" {
			text = strings.Replace(text, part.Error(), errorIn(part, true), 1)
		}
	}
	return text
}
