"""Where the paper's words and the algebra of wang2019 meet."""
