// Package lang holds what messages and reports of all kinds need of language:
// texts and sentences in English and Chinese, the order of names with numbers in
// them, the nearest of the words that a misspelled one may stand for, lists of steps,
// the language that the environment asks for, and command lines that can be pasted.
package lang

import (
	"encoding"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"strings"
	"sync"
)

// Text is a text in two languages.
type Text struct {
	// EN is the text in English, ZH in Chinese.
	EN string `json:"en"`
	ZH string `json:"zh"`
}

// Both are the languages of a text in a document.
type Both struct {
	// EN is the text in English, ZH in Chinese.
	EN string `json:"en"`
	ZH string `json:"zh"`
}

// Both returns both languages.
func (t Text) Both() Both { return Both(t) }

// Sentence is a text that is put together from a template and its arguments when
// somebody reads it, in the language that is wanted: it takes about as much memory as
// a text in one language. The zero value says nothing. JSON has it in English.
type Sentence struct{ s *sentence }

type sentence struct {
	template Text
	args     []any
}

// Sayf returns a sentence of a template in English and one in Chinese, with the verbs
// of fmt for the same arguments; without arguments they are no templates but the
// texts. Of arguments that are texts or sentences themselves, or have a text, each
// language takes its own, also of errors that wrap one that has a text. Arguments
// must not change any more.
func Sayf(en, zh string, args ...any) Sentence {
	return Sentence{&sentence{Text{EN: en, ZH: zh}, args}}
}

// Plain returns a text that is the same in both languages, such as that of an error.
func Plain(text string) Sentence {
	if text == "" {
		return Sentence{}
	}
	return Sayf(text, text)
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
	verbs := strings.Repeat("%s", len(args))
	return Sayf(verbs, verbs, args...)
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
	if s.s.template.ZH == byTable {
		format = message(s.s.template.EN, zh, len(s.s.args) == 0)
	}
	if len(s.s.args) == 0 {
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
	return fmt.Sprintf(format, own...)
}

// String is the text in English.
func (t Text) String() string { return t.EN }

// in is the text in English or Chinese.
func (t Text) in(zh bool) string {
	if zh {
		return t.ZH
	}
	return t.EN
}

// Error returns the sentence of an error.
func Error(err error) Sentence { return Sayf("%v", "%v", err) }

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

// CountText is Count in both languages; zh has the measure word, such as 个文件.
func CountText(n int, noun, zh string) Text {
	return Text{EN: Count(n, noun), ZH: fmt.Sprintf("%d %s", n, zh)}
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

// byTable stands for the Chinese of a template that the table of messages has.
const byTable = "\x00"

// Say returns the sentence of a message that the table has in Chinese: a template in
// English with its arguments, as fmt.Errorf takes them, or a text without arguments. A
// message that is not in the table is the same in both languages.
func Say(format string, args ...any) Sentence {
	return Sentence{&sentence{Text{EN: format, ZH: byTable}, args}}
}

// Errorf is fmt.Errorf for a message that the table has in Chinese.
func Errorf(format string, args ...any) error {
	return &said{fmt.Errorf(format, args...), Say(format, args...)}
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

// chinese are the messages in Chinese by their templates.
var chinese = sync.OnceValue(func() map[string]string {
	all := systemInChinese()
	for _, table := range []map[string]string{readersInChinese(), runsInChinese(), commandsInChinese(), lineInChinese()} {
		maps.Copy(all, table)
	}
	return all
})

// message is a template of the table in a language.
func message(format string, zh bool, plain bool) string {
	if zh {
		if text, ok := chinese()[format]; ok {
			format = text
		}
	}
	if plain {
		return strings.ReplaceAll(format, "%%", "%") // a text, not a template
	}
	return strings.ReplaceAll(format, "%w", "%v")
}

// errorIn is an error in a language: in Chinese its own text, or that of what it wraps
// in place of what that says in English.
func errorIn(err error, zh bool) string {
	if e, ok := any(err).(interface{ Text() Text }); ok && zh {
		return e.Text().ZH
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
	if known, ok := chinese()[text]; ok {
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

// systemInChinese are errors of the system and of Go's library.
func systemInChinese() map[string]string {
	return map[string]string{
		"EOF":                               "文件已结束",
		"unexpected EOF":                    "文件提前结束",
		"file does not exist":               "文件不存在",
		"file already exists":               "文件已存在",
		"file already closed":               "文件已关闭",
		"no such file or directory":         "没有该文件或目录",
		"permission denied":                 "没有权限",
		"operation not permitted":           "不允许该操作",
		"is a directory":                    "是目录",
		"not a directory":                   "不是目录",
		"directory not empty":               "目录不为空",
		"file exists":                       "文件已存在",
		"file name too long":                "文件名过长",
		"no space left on device":           "磁盘空间不足",
		"disk quota exceeded":               "超出磁盘配额",
		"read-only file system":             "文件系统只读",
		"too many open files":               "打开的文件过多",
		"too many levels of symbolic links": "符号链接层数过多",
		"input/output error":                "输入输出错误",
		"invalid argument":                  "参数无效",
		"broken pipe":                       "管道已断开",
		"connection refused":                "连接被拒绝",
		"connection reset by peer":          "连接被对方重置",
		"no such host":                      "没有该主机",
		"i/o timeout":                       "超时",
		"context deadline exceeded":         "超时",
		"context canceled":                  "被中断",
		"device or resource busy":           "设备或资源忙",
		"stale file handle":                 "文件句柄已失效",
	}
}
