"""A class without a base: nothing of MAS Lab is needed to write a tool."""

import ast
import operator

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def value(node):
    if isinstance(node, ast.Expression):
        return value(node.body)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](value(node.left), value(node.right))
    raise ValueError("only numbers, + - * / and parentheses")


class Calc:
    def get_name(self):
        return "calc"

    def get_description(self):
        return "Works out an arithmetic expression."

    def get_parameters_schema(self):
        return {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}

    def execute(self, expression):
        return {"expression": expression, "result": value(ast.parse(expression, mode="eval"))}
