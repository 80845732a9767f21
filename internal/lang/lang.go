// Package lang holds what messages and reports of all kinds need of language:
// texts and sentences in English and Chinese, the order of names with numbers in
// them, the nearest of the words that a misspelled one may stand for, lists of steps,
// and the language that the environment asks for.
package lang

// Text is a text in two languages.
type Text struct {
	// EN is the text in English, ZH in Chinese.
	EN string `json:"en"`
	ZH string `json:"zh"`
}
